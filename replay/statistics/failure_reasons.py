"""
Why turns of a run failed: each distinct reason once, in full, with its count and one turn to look at.

Two reasons are one where they differ only in what changes from ask to ask: identifiers, moments, durations,
and numbers of five digits and more (ports, epochs, offsets). Shorter numbers are never taken for chance:
statuses, depths and counts say what went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

_CHANGING = re.compile(
    r"""
    \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b                    # a UUID
    | \b0x[0-9a-f]+\b                                                  # an address in memory
    | \b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?
    | \b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?|min|minutes?)\b         # a duration
    | \b(?=[^\W\d]*[a-z])(?=(?:[^\W\d]*\d){3})\w{10,}\b                # an id, as in req_011CSHoEeq
    | \d{5,}(?:\.\d+)?
    """,
    re.VERBOSE | re.IGNORECASE,
)


class FailedTurns(NamedTuple):
    """Turns of a system that ended alike, word for word, and the first of them."""

    system: str
    outcome: str
    error: str | None
    turns: int
    policy: str
    conversation: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReason:
    """Turns of one system that failed for the same reason."""

    outcome: str
    reason: str | None
    """In full, in the words of the first such turn; None where the adapter gave none."""
    turns: int
    wordings: int
    """How many texts were taken for this reason; they differ in identifiers, times and long numbers."""
    system: str
    policy: str
    """Of the first such turn, as are conversation and depth."""
    conversation: str
    depth: int

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def failure_reasons(failed: Iterable[FailedTurns]) -> tuple[FailureReason, ...]:
    """Return the distinct reasons of *failed*, most turns first; of equal counts, the first met."""
    found: dict[tuple[str, str, str], FailureReason] = {}
    for one in failed:
        key = one.system, one.outcome, _CHANGING.sub("#", one.error or "")
        if known := found.get(key):
            found[key] = replace(known, turns=known.turns + one.turns, wordings=known.wordings + 1)
        else:
            found[key] = FailureReason(
                outcome=one.outcome,
                reason=one.error,
                turns=one.turns,
                wordings=1,
                system=one.system,
                policy=one.policy,
                conversation=one.conversation,
                depth=one.depth,
            )
    return tuple(sorted(found.values(), key=lambda reason: -reason.turns))
