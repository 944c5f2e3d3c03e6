"""
When a run stops since one of its systems fails: at once, or after so many failures in a row.

A system that refuses our key will refuse it ten thousand times; a system that is down makes a row of
failures that says nothing about its answers. Both are for a person to mend before the run goes on.
"""

from __future__ import annotations

from replay.core.errors import AdapterError, RunStoppedError

KEY_REFUSED = (401, 403)
"""Statuses that say that we, not the question, aren't wanted."""


class Breaker:
    """Told how the asks of a run end, one after another; retries have been tried by then."""

    __slots__ = ("_answered", "_fail_fast", "_in_a_row", "_stop_after", "stop")

    def __init__(self, stop_after: int | None, *, fail_fast: bool = True) -> None:
        """*stop_after* failures of one system in a row stop the run; None stands for any number."""
        self._stop_after = stop_after
        self._fail_fast = fail_fast
        self._answered: set[str] = set()
        self._in_a_row: dict[str, int] = {}
        self.stop: RunStoppedError | None = None
        """Why nothing more is to be asked; to be raised once the failure is recorded."""

    def answered(self, system: str) -> None:
        """An ask of *system* was answered."""
        self._answered.add(system)
        self._in_a_row[system] = 0

    def failed(self, system: str, error: AdapterError) -> None:
        """
        An ask of *system* failed for good.

        Raises:
            RunStoppedError: *system* refuses our key and has answered nothing yet. The ask counts as not
                made: recorded as a failed turn, it would not be asked again when the key is mended.
        """
        if self._fail_fast and error.status in KEY_REFUSED and system not in self._answered:
            raise RunStoppedError(
                f'stopped: system "{system}" refused us before it answered anything, so it would refuse '
                f"everything: {_shown(error)}. (play.fail_fast: false goes on all the same.)"
            )
        in_a_row = self._in_a_row[system] = self._in_a_row.get(system, 0) + 1
        if in_a_row == self._stop_after:
            failures = "failure" if in_a_row == 1 else "failures in a row"
            self.stop = RunStoppedError(
                f'stopped: system "{system}" brought {in_a_row} {failures} (play.stop_after); '
                f"the last one: {_shown(error)}"
            )


def _shown(error: AdapterError) -> str:
    """What *error* says; a system's own words in it must not move the cursor of whoever reads it."""
    return "".join(letter if letter.isprintable() else " " for letter in str(error))
