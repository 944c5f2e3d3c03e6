"""
One conversation, side by side: what was recorded, and what happened under each policy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.report.pages import figures
from replay.report.pages.figures import Style
from replay.report.pages.safe_text import Clipped
from replay.report.pages.turn_view import Room, TurnShown, clip, turn_shown
from replay.statistics.group import Group, group_of, groups_in_order
from replay.store.browsing import RunBrowser


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One policy's side."""

    group: Group
    label: str
    style: Style
    history: str
    """``gold`` or ``own``: whose answers the system was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """A row's left side: what the data says."""

    depth: int
    question: Clipped
    standalone: str | None
    gold_answers: tuple[Clipped, ...]
    fact: str | None
    plays: tuple[TurnShown | None, ...]
    """In the order of the columns; None where the turn was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    id: str
    recorded_as: str | None
    """The id in the data, where this is a play of it under another."""
    title: str
    section: str
    background: Clipped | None
    columns: tuple[Column, ...]
    turns: tuple[RecordedTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKinds:
    """The run's scores: their units by name, and the judges' names."""

    units: Mapping[str, str]
    judges: Sequence[str]


def conversation_view(
    browser: RunBrowser, id: str, kinds: ScoreKinds, *, room: Room | None = None
) -> ConversationView | None:
    """The conversation called *id*, or None if there is none of which anything is known."""
    room = room or Room()
    conversation = browser.conversation(id)
    if conversation is None:
        return None
    records = browser.records(id)
    groups = groups_in_order(map(group_of, records))
    pairs = [(group.system, group.policy) for group in groups]
    scores = _by_turn(browser.scores(id, list(kinds.units), pairs))
    verdicts = _by_turn(browser.verdicts(id, kinds.judges, pairs))
    plays = {(group_of(record), record.depth): record for record in records}
    looks = figures.styles(groups)
    histories: Mapping[str, Mapping[str, str]] = browser.fact("histories") or {}

    def shown(group: Group, depth: int) -> TurnShown | None:
        record = plays.get((group, depth))
        if record is None:
            return None
        key = (group.system, group.policy, depth)
        return turn_shown(record, scores.get(key, []), verdicts.get(key, []), kinds.units, room)

    return ConversationView(
        id=id,
        recorded_as=conversation.id if conversation.id != id else None,
        title=conversation.title,
        section=conversation.section,
        background=clip(conversation.background, room) if conversation.background else None,
        columns=tuple(
            Column(
                group=group,
                label=figures.group_label(group, groups),
                style=looks[group],
                history=histories.get(group.system, {}).get(group.policy, "own"),
            )
            for group in groups
        ),
        turns=tuple(
            RecordedTurn(
                depth=depth,
                question=clip(turn.question, room),
                standalone=turn.standalone if turn.standalone != turn.question else None,
                gold_answers=tuple(clip(answer, room) for answer in turn.gold_answers[:8]),
                fact=turn.fact,
                plays=tuple(shown(group, depth) for group in groups),
            )
            for depth, turn in enumerate(conversation.turns, 1)
        ),
    )


def _by_turn(rows: Iterable[Any]) -> dict[tuple[str, str, int], list[Any]]:
    found: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for row in rows:
        found[row.system, row.policy, row.depth].append(row)
    return found
