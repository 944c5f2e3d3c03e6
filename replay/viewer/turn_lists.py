"""
Pages that list turns: *Interventions*, and *Recorded against now*.

What a user said in place of the recorded questions or after replies has a row each; a turn whose answer is
not shown to be the recorded one stands with both answers side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replay.core.record import Intervention, TurnRecord
from replay.statistics.recorded import VERDICTS, RecordedNumbers, RecordedRow, RecordedTurn, RecordedVerdict
from replay.statistics.users import OCCASIONS
from replay.store.page_queries import RunBrowser
from replay.viewer.conversation_view import Address
from replay.viewer.turn_view import TextLimits

MOST_TURNS = 200
"""Turns of which a file has the interventions, and turns with both answers."""
ROOM = TextLimits(first=400, most=4_000)


class ListedIntervention(NamedTuple):
    """One intervention."""

    record: TurnRecord
    said: Intervention
    reply: str | None
    """To what was said; None where nothing was, or no reply came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionsView:
    """The page's content."""

    counts: Sequence[tuple[str, int]]
    """Interventions by reason, all reasons that there are."""
    occasion: str
    """The reason that was chosen; empty for all."""
    rows: Sequence[ListedIntervention]
    turns: int
    """Turns with an intervention for that reason."""
    first: int
    """The first turn that is shown, from 0."""
    shown: int
    """Turns that are shown."""
    several: bool
    """Users did something with more than one system, or under more than one policy."""
    address: Address
    """Where the page of a turn is."""
    room: TextLimits = ROOM


def interventions_view(
    browser: RunBrowser, address: Address, *, occasion: str = "", first: int = 0, count: int = MOST_TURNS
) -> InterventionsView:
    """
    Return what users did in the turns of a run.

    Args:
        browser: The run.
        address: Where the page of a turn is.
        occasion: Show those for this reason alone; empty for all.
        first: The first turn to show, from 0, of those with such an intervention.
        count: Turns to show at most.
    """
    counts = browser.occasions()
    chosen = occasion if occasion in OCCASIONS else ""
    records = browser.turns_with_interventions(chosen, first=first, count=count)
    return InterventionsView(
        counts=[(name, counts[name]) for name in OCCASIONS if name in counts],
        occasion=chosen,
        rows=[row for record in records for row in _rows(record) if chosen in ("", row.said.occasion)],
        turns=browser.count_turns_with_interventions(chosen),
        first=first,
        shown=len(records),
        several=len(browser.groups_with_interventions()) > 1,
        address=address,
    )


def _rows(record: TurnRecord) -> Iterator[ListedIntervention]:
    replies = _replies(record)
    said_after = 0
    for one in record.interventions:
        said_after += one.is_follow_up
        reply = replies[said_after] if one.said is not None and said_after < len(replies) else None
        yield ListedIntervention(record, one, reply)


def _replies(record: TurnRecord) -> list[str | None]:
    """Return the reply of each exchange of the turn; None where no text came."""
    replies: list[str | None] = []
    last = None
    for step in record.steps:
        if step.role == "user":
            replies.append(last)
            last = None
        elif step.role == "assistant" and step.text:
            last = step.text
    return [*replies, record.answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedView:
    """The page's content."""

    verdicts: Sequence[RecordedVerdict]
    rows: Sequence[RecordedRow]
    counts: Sequence[tuple[RecordedVerdict, int]]
    """How many of the turns that can be listed have which verdict."""
    turns: Sequence[RecordedTurn]
    of: int
    """Turns that can be listed: all that are not the same."""
    several: bool
    """There is more than one system or policy."""
    address: Address
    """Where the page of a turn is."""
    room: TextLimits = ROOM


def recorded_view(recorded: RecordedNumbers | None, address: Address) -> RecordedView | None:
    """Return the page's content; None where answers were not held against recorded ones."""
    if recorded is None:
        return None
    counts = [(name, sum(row.counts[name] for row in recorded.totals)) for name in VERDICTS]
    return RecordedView(
        verdicts=VERDICTS,
        rows=recorded.rows,
        counts=[(name, count) for name, count in counts if count and name != "same"],
        turns=recorded.turns[:MOST_TURNS],
        of=len(recorded.turns),
        several=len(recorded.totals) > 1,
        address=address,
    )
