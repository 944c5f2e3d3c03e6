"""
When everything stops since an endpoint fails: at once, or after so many failures in a row.

A system that refuses our key will refuse it ten thousand times; a system that is down makes a row of
failures that says nothing about its answers. Both are for a person to mend before the run goes on.
"""

from __future__ import annotations

from typing import Protocol

from replay.core.errors import AdapterError, RunStoppedError

KEY_REFUSED = (401, 403)
"""Statuses that say that we, not the question, aren't wanted."""


class CircuitBreaker(Protocol):
    """Told how asks end, one after another; retries have been tried by then."""

    stop: RunStoppedError | None
    """Why nothing more is to be asked; to be raised once the failure is recorded."""

    def answered(self, name: str) -> None:
        """Count an answered ask of the endpoint *name*."""
        ...

    async def failed(self, name: str, error: AdapterError) -> None:
        """
        Count a final failure of an ask of the endpoint *name*.

        Raises:
            RunStoppedError: it refuses our key and has answered nothing yet. The ask counts as not made:
                recorded as a failure, it would not be asked again when the key is mended.
        """
        ...


class FailureCounts(Protocol):
    """How asks of each endpoint ended so far."""

    def has_answered(self, name: str) -> bool:
        """Return whether *name* ever answered."""
        ...

    def answered(self, name: str) -> None:
        """Note that *name* answered."""
        ...

    def failed(self, name: str) -> int:
        """Note that *name* failed once more; return how often it has since its last answer."""
        ...


class OwnFailureCounts:
    """Those of what this process asks."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._in_a_row: dict[str, int] = {}

    def has_answered(self, name: str) -> bool:
        return name in self._answered

    def answered(self, name: str) -> None:
        self._answered.add(name)
        self._in_a_row[name] = 0

    def failed(self, name: str) -> int:
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1
        return self._in_a_row[name]


class Breaker:
    """The one that looks at how often an endpoint failed."""

    def __init__(
        self,
        stop_after: int | None = None,
        *,
        fail_fast: bool = True,
        who: str = "system",
        way_out: str = "",
        counts: FailureCounts | None = None,
    ) -> None:
        """
        *stop_after* failures of one endpoint in a row stop everything; None stands for any number.

        *who* is what an endpoint is called; *way_out* says how to go on with a refused key; *counts* are of
        this process where they are left out.
        """
        self._stop_after = stop_after
        self._fail_fast = fail_fast
        self._who = who
        self._way_out = way_out
        self._counts = counts or OwnFailureCounts()
        self.stop: RunStoppedError | None = None

    def answered(self, name: str) -> None:
        self._counts.answered(name)

    async def failed(self, name: str, error: AdapterError) -> None:
        if self._fail_fast and error.status in KEY_REFUSED and not self._counts.has_answered(name):
            raise RunStoppedError(
                f'stopped: {self._who} "{name}" refused us before it answered anything, so it would refuse '
                f"everything: {_printable_error(error)}.{self._way_out}"
            )
        in_a_row = self._counts.failed(name)
        # More than that where another process counted the one that made it as many.
        if self.stop is None and self._stop_after is not None and in_a_row >= self._stop_after:
            failures = "failure" if self._stop_after == 1 else "failures in a row"
            self.stop = RunStoppedError(
                f'stopped: {self._who} "{name}" brought {self._stop_after} {failures} (play.stop_after); '
                f"the last one: {_printable_error(error)}"
            )


def _printable_error(error: AdapterError) -> str:
    """Return the message of *error* with unprintable characters replaced by spaces, safe for a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(error))
