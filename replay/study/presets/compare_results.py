"""
What people prefer: outcomes and win rates by depth, strengths, whether the place on the screen mattered.

The win rate of one of two is its wins and half of the comparisons without a winner, over all
(``statistics/preferences.py``). Answers that are the same, word for word, were shown to nobody and are no
part of it; how many they are stands below the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar

import msgspec

from replay.core.decoding import convert_to
from replay.core.history import Exchange
from replay.statistics.group import Group
from replay.statistics.people import HumanTable, number_text
from replay.statistics.preferences import (
    OUTCOMES,
    POINTS,
    TURNED,
    Outcome,
    Preference,
    PreferenceRow,
    bradley_terry,
    preferences_of,
)
from replay.statistics.rater_agreement import RatedItem
from replay.study.preset import HumanScore, JudgedTurnKey, Results, TaskContent
from replay.study.presets.run_turns import RunTurn, results_of_turns
from replay.study.tasks import StudyState

CHOICE = "compare"
"""The only screen."""
WIN = "human_win"


class AnswerSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two that are compared."""

    turns: tuple[RunTurn, ...]
    """The one that is judged, or all of a conversation."""
    before: tuple[Exchange, ...] = ()
    """What its system was shown before the one turn."""

    @property
    def name(self) -> Group:
        record = self.turns[0].record
        return Group(record.system, record.policy)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The questions and answers of the turns."""
        records = [turn.record for turn in self.turns]
        return tuple(Exchange(question=one.asked, answer=one.answer or "") for one in records)

    @property
    def answers(self) -> list[str]:
        return [one.answer for one in self.exchanges]

    @property
    def opening(self) -> tuple[Any, ...]:
        """The history that the system was shown before the first turn, and that turn's question."""
        return (self.before, self.turns[0].record.asked)


class ComparedSides(TaskContent, frozen=True, kw_only=True):
    """What a task of this preset holds."""

    kind: ClassVar[str] = "compare"
    first: AnswerSide
    second: AnswerSide
    different: int
    """How often these two systems and policies answered differently where they could be compared."""
    same: int
    """How often word for word the same."""

    def in_order(self, draw: int) -> tuple[AnswerSide, AnswerSide]:
        """
        Return the sides to show as A and B, in the order that *draw* gives: the first one first if it is
        even.
        """
        return (self.second, self.first) if draw % 2 else (self.first, self.second)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one rater chose."""

    task: int
    rater: str
    compared: ComparedSides
    under: str
    """What both sides have: the policy, or the system."""
    labels: tuple[str, str]
    """What the sides are called; by the system or policy alone where all pairs differ in that only."""
    as_shown: Outcome
    """With A as the first."""
    outcome: Outcome
    reason: str

    @property
    def chosen_label(self) -> str:
        """The side that is better, as it is called, or that none is."""
        return dict(zip(("first", "second"), self.labels, strict=True)).get(self.outcome, self.outcome)

    @property
    def turn(self) -> JudgedTurnKey:
        """Of the first side; of a whole conversation the last turn."""
        return self.compared.first.turns[-1].key

    @property
    def conversation(self) -> str:
        return self.compared.first.turns[0].record.recorded_conversation

    @property
    def depth(self) -> int | None:
        """None for whole conversations."""
        return self.turn.depth if len(self.compared.first.turns) == 1 else None


def compare_results(state: StudyState) -> Results:
    """Return all that comes out of a comparison."""
    votes = _votes(state)
    tables = [_preference_table(votes), *_strengths(votes), _places(votes), _reasons(votes)]
    turns = {
        turn.key: turn
        for vote in votes
        for side in (vote.compared.first, vote.compared.second)
        for turn in side.turns
    }
    return results_of_turns(
        state,
        list(turns.values()),
        scores=_scores(votes),
        rated={WIN: _rated_items(votes)},
        tables=[table for table in tables if table.rows],
    )


def _votes(state: StudyState) -> list[Vote]:
    compared = {one.task: convert_to(state.tasks[one.task].content, ComparedSides) for one in state.done}
    names = [(one.first.name, one.second.name) for one in compared.values()]
    by_system = all(one.policy == other.policy for one, other in names)
    by_policy = all(one.system == other.system for one, other in names)
    shown: dict[Any, Outcome] = {"a": "first", "b": "second", "tie": "tie", "both-bad": "both-bad"}
    found = []
    for one in state.done:
        answer = state.answers[one.id][CHOICE].answer
        first, second = compared[one.task].first.name, compared[one.task].second.name
        if by_system:
            labels = (first.policy, first.system, second.system)
        elif by_policy:
            labels = (first.system, first.policy, second.policy)
        else:
            labels = ("", str(first), str(second))
        as_shown = shown[answer["choice"]]
        found.append(
            Vote(
                task=one.task,
                rater=state.names[one.rater],
                compared=compared[one.task],
                under=labels[0],
                labels=labels[1:],
                as_shown=as_shown,
                outcome=TURNED[as_shown] if one.draw % 2 else as_shown,
                reason=str(answer.get("reason", "")),
            )
        )
    return found


def _preferences(votes: Sequence[Vote]) -> dict[str, list[Preference]]:
    """By what both sides have."""
    found: dict[str, list[Preference]] = defaultdict(list)
    for vote in votes:
        found[vote.under].append(
            Preference(
                conversation=vote.conversation,
                first=vote.labels[0],
                second=vote.labels[1],
                outcome=vote.outcome,
                depth=vote.depth,
                rater=vote.rater,
            )
        )
    return found


def _cells(row: PreferenceRow) -> tuple[Any, ...]:
    shares = (number_text(row.shares[outcome], "share") for outcome in OUTCOMES)
    win_rate = number_text(row.win_rates[0], "share")
    return (sum(row.counts.values()), *shares, win_rate, row.adjusted_p)


def _preference_table(votes: Sequence[Vote]) -> HumanTable:
    rows = [
        (of, pair.first, pair.second, row.depth or "all", *_cells(row))
        for of, preferences in sorted(_preferences(votes).items())
        for pair in preferences_of(preferences)
        for row in (*pair.depths, pair.total)
    ]
    counted = {
        (one.compared.first.name, one.compared.second.name): (one.compared.different, one.compared.same)
        for one in votes
    }
    different, same = (sum(count[place] for count in counted.values()) for place in (0, 1))
    return HumanTable(
        title="Which answers people prefer",
        columns=(
            *("under", "first", "second", "depth", "judgements", "first is better", "second is better"),
            *("as good", "both bad", "win rate of the first", "p"),
        ),
        rows=rows,
        caption="A win rate counts wins and half of what has no winner; one half means that neither is "
        "preferred. Intervals resample conversations; p (sign flips of conversations) is corrected for all "
        f"pairs, or for all depths, by Holm. Of {different + same} comparisons that the runs offer, {same} "
        "have the same answers, word for word: they are shown to nobody and not counted.",
    )


def _strengths(votes: Sequence[Vote]) -> list[HumanTable]:
    """Return a table of Bradley-Terry strengths; none where no more than two systems are compared."""
    rows = []
    for of, preferences in sorted(_preferences(votes).items()):
        systems = bradley_terry(preferences).systems
        if len(systems) > 2:
            rows += [(of, name, one.items, number_text(one)) for name, one in systems.items()]
    return [
        HumanTable(
            title="Strengths",
            columns=("under", "name", "judgements", "strength"),
            rows=rows,
            caption="Bradley and Terry's, natural logarithms with mean 0, best first: who is 1 above another "
            "is preferred to it in 73 of 100 comparisons, those without a winner counting half.",
        )
    ]


def _places(votes: Sequence[Vote]) -> HumanTable:
    """Return how often A was chosen, by all and by each rater."""

    def row(name: str, of: Sequence[Vote]) -> tuple[Any, ...]:
        shown = [
            Preference(conversation=one.conversation, first="A", second="B", outcome=one.as_shown)
            for one in of
        ]
        return (name, *_cells(preferences_of(shown)[0].total))

    raters = sorted({vote.rater for vote in votes})
    rows = [row(rater, [vote for vote in votes if vote.rater == rater]) for rater in raters]
    return HumanTable(
        title="Whether the place mattered",
        columns=(
            *("rater", "judgements", "A is better", "B is better", "as good", "both bad"),
            *("win rate of A", "p"),
        ),
        rows=[row("all", votes), *rows] if votes else [],
        caption="Who stands under A is drawn, so that one half is to be expected.",
    )


def _reasons(votes: Sequence[Vote]) -> HumanTable:
    return HumanTable(
        title="Why",
        columns=("conversation", "depth", "under", "rater", "choice", "reason"),
        rows=[
            (one.conversation, one.depth, one.under, one.rater, one.chosen_label, one.reason)
            for one in votes
            if one.reason
        ],
    )


def _scores(votes: Sequence[Vote]) -> list[HumanScore]:
    """For each turn what a rater gave it: the mean of its wins over those that it met."""
    points: dict[tuple[JudgedTurnKey, str], list[float]] = defaultdict(list)
    for vote in votes:
        first = POINTS[vote.outcome]
        points[vote.turn, vote.rater].append(first)
        points[vote.compared.second.turns[-1].key, vote.rater].append(1 - first)
    return [HumanScore(name=WIN, turn=key[0], rater=key[1], value=fmean(won)) for key, won in points.items()]


def _rated_items(votes: Sequence[Vote]) -> list[RatedItem]:
    """Return each rater's choice for each comparison, whichever answer was shown as A."""
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_task[vote.task].append(vote)
    return [
        RatedItem(
            id=str(task),
            conversation=some[0].conversation,
            depth=some[0].depth,
            ratings={vote.rater: vote.chosen_label for vote in some},
        )
        for task, some in by_task.items()
    ]
