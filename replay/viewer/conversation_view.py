"""
One conversation, side by side: what was recorded, what happened under each policy, and its other plays.

In a run with repeats, plays beside each other say why a turn passes in one and not in another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote

from replay.core.conversation import Conversation, Turn
from replay.core.expectation import CheckResult
from replay.core.record import TurnRecord
from replay.core.terminal import ClippedText
from replay.report.charts import Style, group_label, styles
from replay.report.numbers import count_text
from replay.report.script_tables import ending_text
from replay.results.checking import CHECKS
from replay.results.run_data import repeats_of
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group, group_of, groups_in_order
from replay.store.page_queries import RunBrowser, TurnScore
from replay.viewer.run_numbers import BrokenRule
from replay.viewer.turn_view import Address, StepsView, TextLimits, TurnView, steps_view, turn_view

MOST_PLAYS = 12
"""More than that are not put beside each other."""

_TurnKey = tuple[str, str, int]
"""System, policy, depth."""


def address_in_viewer(id: str, depth: int | None) -> str:
    """
    Return the address of a conversation, or its turn at *depth*, relative to another conversation's page.
    """
    turn = "" if depth is None else f"#turn-{depth}"
    return f"conversation?id={quote(id, safe='')}{turn}"


class PlayLink(NamedTuple):
    """One play of the conversation."""

    repeat: int
    address: str
    is_shown: bool
    """It is the one whose page this is."""


class OtherPlay(NamedTuple):
    """A turn as it went in one of the plays."""

    link: PlayLink
    address: str
    """Of this turn on the play's page."""
    record: TurnRecord
    answer: ClippedText | None
    """None without an answer."""
    is_same: bool
    """The same text as in the play whose page this is."""
    scores: Sequence[tuple[str, float]]
    """Name and value of those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaysView:
    """The plays of a conversation, the one whose page this is among them."""

    links: tuple[PlayLink, ...]
    times: int
    """Plays that there are to be, more than ``links`` where there are very many."""
    turns: Mapping[_TurnKey, Sequence[OtherPlay]]
    units: Mapping[str, str]
    """Of the scores."""

    def of(self, record: TurnRecord) -> Sequence[OtherPlay]:
        """Return the turn of *record* in each play that has come to it."""
        return self.turns.get(_turn_key(record), ())

    def summary(self, record: TurnRecord) -> str:
        """Return how often it passed, or how many answers there are."""
        plays = self.of(record)
        values: dict[str, list[float]] = defaultdict(list)
        for name, value in (score for one in plays for score in one.scores):
            values[name].append(value)
        passed = [
            f"{name} passes in {found.count(1)} of {len(found)}"
            for name, found in values.items()
            if self.units.get(name) == SHARE and set(found) <= {0, 1}
        ]
        answers = len({one.record.answer for one in plays if one.record.answer is not None})
        alike = {0: "no answer", 1: "always the same answer"}.get(answers, f"{answers} answers")
        return f"{count_text(len(plays), 'play')}: {', '.join([*passed, alike])}"


def plays_view(
    browser: RunBrowser,
    id: str,
    source: str,
    units: Mapping[str, str],
    room: TextLimits,
    address: Address,
) -> PlaysView | None:
    """
    Return the plays of the conversation that the data calls *source*, seen from the one called *id*.

    *units* are those of the run's scores. None where the run plays each conversation once.
    """
    repeats = repeats_of(browser)
    if repeats.times == 1:
        return None
    ids = list(islice(repeats.ids(source), MOST_PLAYS))
    if id not in ids:
        ids[-1] = id
    links, turns = [], dict[_TurnKey, list[OtherPlay]]()
    shown = {_turn_key(record): record.answer for record in browser.records(id)}
    for one in ids:
        records = browser.records(one)
        pairs = dict.fromkeys((record.system, record.policy) for record in records)
        scores: dict[_TurnKey, list[TurnScore]] = {}
        for score in browser.scores(one, list(units), pairs):
            scores.setdefault((score.system, score.policy, score.depth), []).append(score)
        repeat = next((record.repeat for record in records), ids.index(one) + 1)
        link = PlayLink(repeat, address(one, None), one == id)
        links.append(link)
        for record in records:
            place = _turn_key(record)
            known = [(s.scorer, float(s.value)) for s in scores.get(place, ()) if _is_number(s.value)]
            turns.setdefault(place, []).append(
                OtherPlay(
                    link=link,
                    address=address(one, record.depth),
                    record=record,
                    answer=None if record.answer is None else room.clip(record.answer),
                    is_same=record.answer is not None and record.answer == shown.get(place),
                    scores=known,
                )
            )
    return PlaysView(links=tuple(links), times=repeats.times, turns=turns, units=units)


def _turn_key(record: TurnRecord) -> _TurnKey:
    return record.system, record.policy, record.depth


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


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
        """A few words on the turn's plays: how many, and how many failed, drifted or broke a rule."""
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
    endings: Sequence[str]
    """How it ended in each column, where it has a goal in the place of recorded questions; else empty."""
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
    Return the conversation called *id*, or None if there is none of which anything is known.

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
    turns, endings = conversation.turns, dict[Group, str]()
    if conversation.goal is not None:
        turns = turns[: max((record.depth for record in records), default=0)]
        endings = {group_of(one): ending_text(one) for one in browser.endings(id)}

    def view_of_turn(group: Group, depth: int) -> TurnView | None:
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
                [view_of_turn(group, depth) for group in groups],
                [checks.get((group, depth, False), []) for group in groups],
                steps_view(turn.steps, (), room),
            )
            for depth, turn in enumerate(turns, 1)
        ),
        end=[
            [one for (of, _, at_end), found in checks.items() if at_end and of == group for one in found]
            for group in groups
        ]
        if any(at_end for *_, at_end in checks)
        else [],
        endings=[endings.get(group, "not over") for group in groups] if conversation.goal else [],
        units=kinds.units,
        room=room,
        plays=plays_view(browser, id, conversation.id, kinds.units, room, address),
    )


def _history_shown(
    group: Group, histories: Mapping[str, Mapping[str, str]], records: Iterable[TurnRecord]
) -> str:
    """Return which answers the system of *group* was shown as history: ``gold``, ``own`` or ``no``."""
    cuts = [record.history_cut or "" for record in records if group_of(record) == group]
    without = any(cut.endswith("answers") for cut in cuts)
    return "no" if without else histories.get(group.system, {}).get(group.policy, "own")


def _by_turn(rows: Iterable[Any]) -> dict[tuple[str, str, int], list[Any]]:
    found: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for row in rows:
        found[row.system, row.policy, row.depth].append(row)
    return found
