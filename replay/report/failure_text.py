"""
Why turns failed, in words: each reason in full, with its count and one turn to look at.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.terminal import on_one_line
from replay.statistics.failure_reasons import FailureReason

MOST = 20
"""Reasons that are shown to people; JSON has all."""


def failure_lines(failures: Sequence[FailureReason]) -> list[str]:
    """A line for each of *failures*, most turns first; of very many, how many more there are."""
    lines = [_line(failure) for failure in failures[:MOST]]
    if rest := failures[MOST:]:
        turns = sum(failure.turns for failure in rest)
        lines.append(f"{len(rest):,} more reasons, of {_turns(turns)}: `replay report --json` has them all")
    return lines


def _line(failure: FailureReason) -> str:
    return (
        f"{_turns(failure.turns)}, {failure.outcome}: {reason_text(failure)} "
        f"({'first' if failure.turns > 1 else 'at'}: {turn_text(failure)})"
    )


def reason_text(failure: FailureReason) -> str:
    """The reason in full, and whether others of almost the same words are counted with it."""
    reason = on_one_line(failure.reason or "the adapter gave no reason")
    if failure.wordings == 1:
        return reason
    return f"{reason} [and {failure.wordings - 1:,} more that differ in ids, times or long numbers only]"


def turn_text(failure: FailureReason) -> str:
    """The turn to look at, as in ``talk3, depth 2, bot, pred``."""
    return f"{on_one_line(failure.conversation)}, depth {failure.depth}, {failure.system}, {failure.policy}"


def _turns(count: int) -> str:
    return f"{count:,} turn{'' if count == 1 else 's'}"
