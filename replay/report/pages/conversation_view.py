"""One conversation, side by side: what was recorded, and what happened under each policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.conversation import Conversation, Turn
from replay.report.pages import figures
from replay.report.pages.figures import Style
from replay.report.pages.turn_view import Room, TurnShown, turn_shown
from replay.statistics.group import Group, group_of, groups_in_order
from replay.store.browsing import RunBrowser


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One policy's side."""

    label: str
    style: Style
    history: str
    """``gold`` or ``own``: whose answers the system was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """What is shown of one conversation."""

    id: str
    conversation: Conversation
    """As recorded; its id is another where this is a play of it under a name of its own."""
    columns: tuple[Column, ...]
    turns: tuple[tuple[Turn, Sequence[TurnShown | None]], ...]
    """Each turn as recorded, and as played: in the order of the columns, None where it was not asked."""
    units: Mapping[str, str]
    room: Room


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
        conversation=conversation,
        columns=tuple(
            Column(
                label=figures.group_label(group, groups),
                style=looks[group],
                history=histories.get(group.system, {}).get(group.policy, "own"),
            )
            for group in groups
        ),
        turns=tuple(
            (turn, [shown(group, depth) for group in groups])
            for depth, turn in enumerate(conversation.turns, 1)
        ),
        units=kinds.units,
        room=room,
    )


def _by_turn(rows: Iterable[Any]) -> dict[tuple[str, str, int], list[Any]]:
    found: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for row in rows:
        found[row.system, row.policy, row.depth].append(row)
    return found
