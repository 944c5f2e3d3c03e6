"""*Interventions*: what a user said in place of the recorded questions, or after replies, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replay.core.record import Intervention, TurnRecord
from replay.core.terminal import ClippedText
from replay.statistics.users import OCCASIONS
from replay.store.page_queries import RunBrowser
from replay.viewer.conversation_view import Address
from replay.viewer.turn_view import TextLimits

FILE_TURNS = 200
"""Turns of which a file has the interventions."""


class RejectedText(NamedTuple):
    """A wording that was not said."""

    text: ClippedText
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionView:
    """One intervention."""

    system: str
    policy: str
    conversation: str
    depth: int
    address: str
    """Of its turn's page."""
    occasion: str
    evidence: str
    recorded: ClippedText
    said: ClippedText | None
    """None where nothing was said."""
    note: str
    """Why nothing was said."""
    source: str
    rejected: Sequence[RejectedText]
    reply: ClippedText | None
    """To what was said; None where nothing was, or no reply came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionsView:
    """The page's content."""

    counts: Sequence[tuple[str, int]]
    """Interventions by reason, all reasons that there are."""
    occasion: str
    """The reason that was chosen; empty for all."""
    rows: Sequence[InterventionView]
    turns: int
    """Turns with an intervention for that reason."""
    first: int
    """The first turn that is shown, from 0."""
    shown: int
    """Turns that are shown."""
    several: bool
    """Users did something with more than one system, or under more than one policy."""


def interventions_view(
    browser: RunBrowser,
    address: Address,
    *,
    occasion: str = "",
    first: int = 0,
    count: int = FILE_TURNS,
    room: TextLimits | None = None,
) -> InterventionsView:
    """
    Return what users did in the turns of a run.

    Args:
        browser: The run.
        address: Where the page of a turn is.
        occasion: Show those for this reason alone; empty for all.
        first: The first turn to show, from 0, of those with such an intervention.
        count: Turns to show at most.
        room: How much of long texts is shown.
    """
    room = room or TextLimits(first=400, most=4_000)
    counts = browser.occasions()
    chosen = occasion if occasion in OCCASIONS else ""
    records = browser.turns_with_interventions(chosen, first=first, count=count)
    rows = [row for record in records for row in _rows(record, chosen, address, room)]
    return InterventionsView(
        counts=[(name, counts[name]) for name in OCCASIONS if name in counts],
        occasion=chosen,
        rows=rows,
        turns=browser.count_turns_with_interventions(chosen),
        first=first,
        shown=len(records),
        several=len(browser.groups_with_interventions()) > 1,
    )


def _rows(
    record: TurnRecord, occasion: str, address: Address, room: TextLimits
) -> Sequence[InterventionView]:
    replies = _replies(record)
    said_after, rows = 0, []
    for one in record.interventions:
        said_after += one.is_follow_up
        if not occasion or one.occasion == occasion:
            reply = replies[said_after] if one.said is not None and said_after < len(replies) else None
            rows.append(_row(record, one, reply, address, room))
    return rows


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


def _row(
    record: TurnRecord, one: Intervention, reply: str | None, address: Address, room: TextLimits
) -> InterventionView:
    return InterventionView(
        system=record.system,
        policy=record.policy,
        conversation=record.conversation,
        depth=record.depth,
        address=address(record.conversation, record.depth),
        occasion=one.occasion,
        evidence=one.evidence,
        recorded=room.clip(record.recorded),
        said=None if one.said is None else room.clip(one.said),
        note=one.note or "",
        source=one.source,
        rejected=[RejectedText(room.clip(found.text), found.reason) for found in one.rejected],
        reply=None if reply is None else room.clip(reply),
    )
