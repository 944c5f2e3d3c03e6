"""One conversation, side by side: what was recorded, and what happened under each policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from replay.core.check_result import CheckResult
from replay.core.conversation import Conversation, Turn
from replay.core.record import TurnRecord
from replay.report.curves import Style, group_label, styles
from replay.results.checking import CHECKS
from replay.statistics.group import Group, group_of, groups_in_order
from replay.store.page_queries import RunBrowser
from replay.viewer.broken_rules import BrokenRule
from replay.viewer.repeats_view import Address, PlaysView, address_in_viewer, plays_view
from replay.viewer.turn_view import StepsView, TextLimits, TurnView, steps_view, turn_view


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyColumn:
    """One policy's side."""

    label: str
    style: Style
    history: str
    """``gold`` or ``own``: whose answers the system was shown; ``no``: none."""


class TurnRow(NamedTuple):
    """One turn: as recorded, and as played in each column, None where it was not asked."""

    turn: Turn
    plays: Sequence[TurnView | None]
    checks: Sequence[Sequence[CheckResult]]
    """What became of the turn's checks, also where it was not asked, in each column."""
    steps: StepsView | None
    """What was recorded before the gold answer."""

    @property
    def summary(self) -> str:
        """What became of it, in a few words."""
        shown = [play for play in self.plays if play is not None]
        counts = {
            "failed": sum(play.record.failed for play in shown),
            "invalid": sum(play.record.drift is not None and play.record.drift.invalid for play in shown),
            "against a rule": sum(bool(play.against) for play in shown),
            "with a failed check": sum(any(one.passed is False for one in checks) for checks in self.checks),
        }
        noun = "play" if len(shown) == 1 else "plays"
        return ", ".join([f"{len(shown)} {noun}", *(f"{n} {what}" for what, n in counts.items() if n)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """What is shown of one conversation."""

    id: str
    conversation: Conversation
    """As recorded; its id is another where this is a play of it under a name of its own."""
    columns: tuple[PolicyColumn, ...]
    turns: tuple[TurnRow, ...]
    end: Sequence[Sequence[CheckResult]]
    """What became of the checks of the conversation's end, in each column; empty where it has none."""
    units: Mapping[str, str]
    room: TextLimits
    plays: PlaysView | None
    """All plays of it; None where the run plays each conversation once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKinds:
    """The run's scores: their units by name, and the judges' names."""

    units: Mapping[str, str]
    judges: Sequence[str]


def conversation_view(
    browser: RunBrowser,
    id: str,
    kinds: ScoreKinds,
    *,
    broken: Sequence[BrokenRule] = (),
    room: TextLimits | None = None,
    address: Address = address_in_viewer,
) -> ConversationView | None:
    """
    The conversation called *id*, or None if there is none of which anything is known.

    Its turns are marked with the assertions and objectives among the *broken* rules that they speak against.
    *address* leads to the pages of its other plays.
    """
    room = room or TextLimits()
    conversation = browser.conversation(id)
    if conversation is None:
        return None
    records = browser.records(id)
    checks: dict[tuple[Group, int, bool], list[CheckResult]] = defaultdict(list)
    for check in browser.checks(id):
        checks[Group(check.system, check.policy), check.depth, check.at_end].append(check)
    groups = groups_in_order([*map(group_of, records), *(group for group, *_ in checks)])
    pairs = [(group.system, group.policy) for group in groups]
    of_checks = browser.fact(CHECKS) or ()  # each check stands there itself, with more
    scores = _by_turn(browser.scores(id, [name for name in kinds.units if name not in of_checks], pairs))
    verdicts = _by_turn(browser.verdicts(id, kinds.judges, pairs))
    plays = {(group_of(record), record.depth): record for record in records}
    looks = styles(groups)
    against: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for one in broken:
        for turn in one.by_conversation.get(id, ()) if one.kind in ("assertion", "objective") else ():
            against[turn.system, turn.policy, turn.depth].append(one.rule)
    histories: Mapping[str, Mapping[str, str]] = browser.fact("histories") or {}

    def shown(group: Group, depth: int) -> TurnView | None:
        record = plays.get((group, depth))
        if record is None:
            return None
        key = (group.system, group.policy, depth)
        return turn_view(
            record, scores.get(key, []), verdicts.get(key, []), kinds.units, room, against.get(key, [])
        )

    return ConversationView(
        id=id,
        conversation=conversation,
        columns=tuple(
            PolicyColumn(
                label=group_label(group, groups),
                style=looks[group],
                history=_history_shown(group, histories, records),
            )
            for group in groups
        ),
        turns=tuple(
            TurnRow(
                turn,
                [shown(group, depth) for group in groups],
                [checks.get((group, depth, False), []) for group in groups],
                steps_view(turn.steps, (), room),
            )
            for depth, turn in enumerate(conversation.turns, 1)
        ),
        end=[
            [one for (of, _, at_end), found in checks.items() if at_end and of == group for one in found]
            for group in groups
        ]
        if any(at_end for *_, at_end in checks)
        else [],
        units=kinds.units,
        room=room,
        plays=plays_view(browser, id, conversation.id, kinds.units, room, address),
    )


def _history_shown(
    group: Group, histories: Mapping[str, Mapping[str, str]], records: Iterable[TurnRecord]
) -> str:
    """Whose answers the system was shown: ``gold``, ``own`` or ``no``."""
    cuts = [record.history_cut or "" for record in records if group_of(record) == group]
    without = any(cut.endswith("answers") for cut in cuts)
    return "no" if without else histories.get(group.system, {}).get(group.policy, "own")


def _by_turn(rows: Iterable[Any]) -> dict[tuple[str, str, int], list[Any]]:
    found: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for row in rows:
        found[row.system, row.policy, row.depth].append(row)
    return found
