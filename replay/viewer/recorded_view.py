"""*Recorded against now*: the verdicts by depth, and turns with both answers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.terminal import ClippedText
from replay.statistics.recorded import VERDICTS, RecordedNumbers, RecordedRow, RecordedTurn, RecordedVerdict
from replay.viewer.conversation_view import Address
from replay.viewer.turn_view import TextLimits

MOST_TURNS = 200
"""Turns on the page."""
ROOM = TextLimits(first=400, most=4_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTurn:
    """One turn with both answers."""

    turn: RecordedTurn
    address: str
    """Of the turn's page."""
    asked: ClippedText
    recorded: ClippedText
    now: ClippedText | None
    """None where no answer came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedView:
    """The page's content."""

    verdicts: Sequence[RecordedVerdict]
    rows: Sequence[RecordedRow]
    counts: Sequence[tuple[RecordedVerdict, int]]
    """How many of the turns that can be listed have which verdict."""
    turns: Sequence[ComparedTurn]
    of: int
    """Turns that can be listed: all that are not the same."""
    several: bool
    """There is more than one system or policy."""


def recorded_view(recorded: RecordedNumbers | None, address: Address) -> RecordedView | None:
    """Return the page's content; None where answers were not held against recorded ones."""
    if recorded is None:
        return None
    counts = [(name, sum(row.counts[name] for row in recorded.totals)) for name in VERDICTS]
    return RecordedView(
        verdicts=VERDICTS,
        rows=recorded.rows,
        counts=[(name, count) for name, count in counts if count and name != "same"],
        turns=[
            ComparedTurn(
                turn=one,
                address=address(one.conversation, one.depth),
                asked=ROOM.clip(one.asked),
                recorded=ROOM.clip(one.recorded),
                now=None if one.now is None else ROOM.clip(one.now),
            )
            for one in recorded.turns[:MOST_TURNS]
        ],
        of=len(recorded.turns),
        several=len(recorded.totals) > 1,
    )
