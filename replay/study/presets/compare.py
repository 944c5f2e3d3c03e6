"""
``compare``: two answers to the same question side by side; which one people prefer.

Blind and in an order that is drawn for each rater and comparison: what stands under A is one system's here
and the other's there. What is compared are two systems under one policy, two policies of one system, or both,
of one run or of several. What people chose is counted in ``compare_results.py``.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.core.history import Exchange
from replay.core.settings.choice import Count
from replay.study.preset import (
    Block,
    Field,
    Material,
    Option,
    PracticeItem,
    Preset,
    Results,
    SideBySide,
    StudyStep,
    TaskContent,
    Text,
    Transcript,
)
from replay.study.presets.compare_results import CHOICE, AnswerSide, ComparedSides, compare_results
from replay.study.presets.run_turns import (
    RunTurn,
    added_turn,
    both_histories,
    check_known,
    conversation_of,
    draw_turns,
    gold_block,
    passage_block,
    practice_turn,
    run_turns,
)
from replay.study.tasks import Answer, NewTask, StudyState, TalkTurn, Task

TURNS = """\
You will see questions from conversations, each with two answers, A and B, that different systems gave.

Say which answer is better: more correct, more complete, and to the point of what was asked. Where you see \
no difference that matters, say whether they are equally good or both bad.

Which system gave which answer is not shown, and changes from screen to screen."""

CONVERSATIONS = """\
You will see the same conversation twice, A and B, with the answers of different systems.

Say in which one the questions are answered better: more correctly, more completely, and to the point of \
what was asked. Where you see no difference that matters, say whether they are equally good or both bad.

Which system answered which is not shown, and changes from screen to screen."""

OPTIONS: tuple[Option, ...] = (
    Option(value="a", label="A is better"),
    Option(value="b", label="B is better"),
    Option(value="tie", label="Equally good"),
    Option(value="both-bad", label="Both are bad"),
)


class AddedPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of further answers to compare; which stands under A is drawn for each person."""

    question: str
    a: str
    b: str
    system_a: str
    system_b: str
    gold_answer: str | None = None
    passage: str = ""


class ComparePractice(PracticeItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of its practice file."""

    question: str
    a: str
    """The answer that stands under A."""
    b: str
    choice: Literal["a", "b", "tie", "both-bad"]
    """The right one."""
    gold_answer: str | None = None
    passage: str = ""
    history: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Preset):
    """Its settings, and what it does with them."""

    contents: ClassVar[tuple[type[TaskContent], ...]] = (ComparedSides,)
    practice_item: ClassVar[type[PracticeItem]] = ComparePractice
    added_item: ClassVar[type[msgspec.Struct] | None] = AddedPair

    comparisons: Count = 100
    """How many are drawn, of each two systems as many."""
    between: Literal["systems", "policies", "both"] | None = None
    """Which answers meet: of two systems under one policy, of one system under two policies, or of any two.
    None for systems, or policies where there is one system."""
    systems: tuple[str, ...] = ()
    """Those of the runs that take part; all if left out."""
    policies: tuple[str, ...] = ()
    unit: Literal["turn", "conversation"] = "turn"
    """What is compared: two answers to one question, or two whole conversations."""
    history: Literal["own", "shared"] = "own"
    """``shared``: only answers to the same words after the same history; else each side shows its own."""
    show: tuple[Literal["passage", "gold"], ...] = ("passage",)
    """What stands beside the answers."""
    raters: Count | None = None
    """How many people judge each comparison; None for everyone."""

    def __post_init__(self) -> None:
        if self.unit == "conversation" and self.history == "shared":
            raise ValueError("history: shared is for single turns; whole conversations have their own")

    @property
    def instructions(self) -> str:
        return TURNS if self.unit == "turn" else CONVERSATIONS

    def tasks(self, material: Material) -> Sequence[NewTask]:
        sides = self._sides(material)
        pairs = list(self._pairs(sides))
        if not pairs:
            raise InputError(
                "runs: there are no two answers to compare; name runs with several systems or policies that "
                "answered the same conversations, or set preset.compare.between"
            )
        different = [pair for pair in pairs if pair[0].answers != pair[1].answers]
        if not different:
            raise InputError("runs: all answers that could be compared are the same, word for word")
        chosen = draw_turns(
            different,
            self.comparisons,
            random.Random(material.seed),
            stratum=lambda pair: (pair[0].name, pair[1].name),
            evenly=True,
        )
        counts: dict[object, list[int]] = defaultdict(lambda: [0, 0])
        for first, second in pairs:
            counts[first.name, second.name][first.answers == second.answers] += 1
        return [
            ComparedSides(
                first=first,
                second=second,
                different=counts[first.name, second.name][0],
                same=counts[first.name, second.name][1],
            ).task(first.turns[0].record.recorded_conversation, raters=self.raters)
            for first, second in chosen
        ]

    def _sides(self, material: Material) -> list[AnswerSide]:
        """
        Return all that can be compared.

        Raises:
            InputError: a system or a policy that is asked for is in no run.
        """
        turns = run_turns(material)
        for name, wanted in (("systems", self.systems), ("policies", self.policies)):
            known = {one.record.system if name == "systems" else one.record.policy for one in turns}
            check_known(f"compare.{name}", wanted, known)
        turns = [
            one
            for one in turns
            if (not self.systems or one.record.system in self.systems)
            and (not self.policies or one.record.policy in self.policies)
        ]
        if self.unit == "turn":
            return [AnswerSide(turns=(one,), before=one.history) for one in turns]
        plays: dict[tuple[str, str, str], list[RunTurn]] = defaultdict(list)
        for one in turns:
            plays[one.record.system, one.record.policy, one.record.conversation].append(one)
        return [AnswerSide(turns=(played[0], *(one.bare for one in played[1:]))) for played in plays.values()]

    def _pairs(self, sides: Sequence[AnswerSide]) -> Iterator[tuple[AnswerSide, AnswerSide]]:
        several = len({side.name.system for side in sides}) > 1
        between = self.between or ("systems" if several else "policies")
        places: dict[tuple[str, int], list[AnswerSide]] = defaultdict(list)
        for side in sides:
            record = side.turns[0].record
            places[record.conversation, record.depth if self.unit == "turn" else 0].append(side)
        for meeting in places.values():
            for first, second in combinations(sorted(meeting, key=lambda side: str(side.name)), 2):
                differ = (first.name.system != second.name.system, first.name.policy != second.name.policy)
                fits = between == "both" or differ == (between == "systems", between == "policies")
                if fits and (self.history == "own" or first.opening == second.opening):
                    yield first, second

    def practice(self, item: ComparePractice) -> NewTask:
        if self.unit == "conversation":
            raise InputError("practice is for single turns; with unit: conversation there is none")

        def side(answer: str) -> AnswerSide:
            turn = practice_turn(
                item.question, answer, item.gold_answer, passage=item.passage, history=item.history
            )
            return AnswerSide(turns=(turn,), before=item.history)

        sides = ComparedSides(first=side(item.a), second=side(item.b), different=1, same=0)
        return sides.task("practice", practice={CHOICE: {"choice": item.choice}})

    def added_task(self, item: AddedPair, conversation: str) -> tuple[NewTask, Conversation]:
        first, second = (
            added_turn(
                item.question,
                answer,
                item.gold_answer,
                passage=item.passage,
                system=system,
                conversation=conversation,
            )
            for answer, system in ((item.a, item.system_a), (item.b, item.system_b))
        )
        sides = ComparedSides(
            first=AnswerSide(turns=(first,)), second=AnswerSide(turns=(second,)), different=1, same=0
        )
        return sides.task(conversation), conversation_of(first)

    def screens(
        self, task: Task, content: ComparedSides, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
    ) -> Sequence[StudyStep]:
        a, b = content.in_order(task.draw)
        first = a.turns[0]
        blocks = passage_block(first.passages) if "passage" in self.show else []
        blocks += _both_conversations(a, b) if self.unit == "conversation" else _both_answers(a, b)
        if "gold" in self.show and self.unit == "turn" and first.record.gold_answers:
            blocks.append(gold_block(first.record))
        return [
            StudyStep(
                id=CHOICE,
                heading="Two answers" if self.unit == "turn" else "Two conversations",
                blocks=tuple(blocks),
                fields=(
                    Field(
                        name="choice",
                        label="Which one is better?",
                        options=(
                            replace(OPTIONS[0], meaning=f"{a.name.system}, {a.name.policy}"),
                            replace(OPTIONS[1], meaning=f"{b.name.system}, {b.name.policy}"),
                            *OPTIONS[2:],
                        ),
                    ),
                    Field(name="reason", label="Why?", required=False),
                ),
                alone=True,
            )
        ]

    def results(self, state: StudyState) -> Results:
        return compare_results(state)


def _both_answers(a: AnswerSide, b: AnswerSide) -> list[Block]:
    asked, other = a.turns[0].record, b.turns[0].record
    blocks = both_histories(a.before, b.before, shared="Before", apart=("Before A", "Before B"))
    if asked.asked == other.asked:
        blocks.append(Text(heading="Question", text=asked.asked))
    else:
        blocks.append(_beside("Question A", asked.asked, "Question B", other.asked))
    return [*blocks, _beside("A", asked.answer or "", "B", other.answer or "")]


def _beside(heading: str, text: str, other_heading: str, other: str) -> SideBySide:
    return SideBySide(blocks=(Text(heading=heading, text=text), Text(heading=other_heading, text=other)))


def _both_conversations(a: AnswerSide, b: AnswerSide) -> list[Block]:
    return [
        SideBySide(
            blocks=(
                Transcript(heading="A", exchanges=a.exchanges),
                Transcript(heading="B", exchanges=b.exchanges),
            )
        )
    ]
