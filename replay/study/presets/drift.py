"""
``drift``: people judge our own verdicts: does a question mean the same after the system's own history?

A screen shows the question as recorded and both histories before it, the recorded one and the system's own.
For a question that a policy has reworded a second screen asks whether the rewording is right; it comes after
the first one is answered, which then stands, since it tells that the detector has found drift. No verdict is
ever shown.

Questions are drawn evenly from verdicts and depths, since drift is rare, and each keeps how many turns of the
runs it stands for (``drift_results.py``). Li et al., *Ditch the Gold Standard* (ACL 2022), section 5, had
people judge their detector in this way: precision and recall 72 %, and of the rewritings of questions that it
rightly found invalid 68 % were right.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec

from replay.core.errors import InputError
from replay.core.history import Exchange
from replay.core.settings.choice import Count
from replay.study.preset import (
    SWAYED,
    Block,
    Field,
    Material,
    PracticeItem,
    Preset,
    Results,
    StudyStep,
    TaskContent,
    Text,
)
from replay.study.presets.drift_results import MEANING, DriftQuestion, drift_results, rewording
from replay.study.presets.run_turns import (
    YES_OR_NO,
    RunTurn,
    both_histories,
    check_known,
    draw_turns,
    practice_turn,
    run_turns,
)
from replay.study.tasks import Answer, NewTask, StudyState, TalkTurn, Task

INSTRUCTIONS = """\
You will see two conversations with the same questions, in which some of the answers are different. Then \
comes one further question, the same in both.

Say whether it means the same in both: whether "he", "it", "the album", or what is left out, stands for the \
same. Different answers don't matter as long as the question still asks for the same thing. If it asks for \
something else in conversation 2, or makes no sense there, it does not mean the same.

Some questions were put in other words, to ask in conversation 2 for what was meant in conversation 1. Say \
then whether they do."""


class DriftPractice(PracticeItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of its practice file."""

    question: str
    recorded_history: tuple[Exchange, ...]
    own_history: tuple[Exchange, ...]
    meaning: Literal["same", "changed", "unsure"]
    """The right answer."""
    reworded: str | None = None
    right: bool | None = None
    """Whether the rewording is."""
    fluent: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftStudy(Preset):
    """Its settings, and what it does with them."""

    text: ClassVar[str] = INSTRUCTIONS
    contents: ClassVar[tuple[type[TaskContent], ...]] = (DriftQuestion,)
    practice_item: ClassVar[type[PracticeItem]] = DriftPractice

    questions: Count = 100
    """How many are drawn, of each verdict and depth as many."""
    policies: tuple[str, ...] = ()
    """Those whose verdicts are judged; all that compare histories if left out."""
    window: Count | None = None
    """How many exchanges before the question are shown; None for all."""
    raters: Count | None = None
    """How many people judge each question; None for everyone."""

    def tasks(self, material: Material) -> Sequence[NewTask]:
        found = self._questions(material)

        def stratum(question: DriftQuestion) -> tuple[bool, int]:
            return question.is_drifted, question.depth

        strata = Counter(map(stratum, found))
        by_depth = self.questions >= len(strata)  # else some would have nobody to stand for them

        def drawn_from(question: DriftQuestion) -> tuple[bool, int]:
            return stratum(question) if by_depth else (question.is_drifted, 0)

        chosen = draw_turns(
            found, self.questions, random.Random(material.seed), stratum=drawn_from, evenly=True
        )
        of, taken = Counter(map(drawn_from, found)), Counter(map(drawn_from, chosen))
        return [
            msgspec.structs.replace(one, weight=of[drawn_from(one)] / taken[drawn_from(one)]).task(
                one.turns[0].record.recorded_conversation, raters=self.raters
            )
            for one in chosen
        ]

    def _questions(self, material: Material) -> list[DriftQuestion]:
        """
        Return each question with a verdict whose two histories differ, once for all turns that met it so.

        Raises:
            InputError: there is none, or a policy that is asked for is in no run.
        """
        turns = run_turns(material, answered=False)
        check_known("drift.policies", self.policies, {turn.record.policy for turn in turns})
        met: dict[object, list[RunTurn]] = defaultdict(list)
        for turn in turns:
            record = turn.record
            judged = record.drift is not None and record.drift.valid is not None
            if judged and turn.history != turn.gold and (not self.policies or record.policy in self.policies):
                met[record.recorded_conversation, record.depth, turn.history].append(turn)
        if not met:
            raise InputError(
                "runs: no question has a drift verdict after a history that differs from the recorded one; "
                "name a run with the policy pred, rewrite, replace or filter"
            )
        return [
            DriftQuestion(turns=tuple(turn.bare for turn in alike), gold=alike[0].gold, own=alike[0].history)
            for alike in met.values()
        ]

    def practice(self, item: DriftPractice) -> NewTask:
        turn = practice_turn(item.question, "", None, passage="", history=())
        right: dict[str, Mapping[str, str | int]] = {MEANING: {"meaning": item.meaning}}
        if item.reworded is not None:
            record = msgspec.structs.replace(turn.record, asked=item.reworded, edit="rewritten")
            turn = msgspec.structs.replace(turn, record=record)
            given = {"right": item.right, "fluent": item.fluent}
            right[rewording(1)] = {name: int(value) for name, value in given.items() if value is not None}
        elif item.right is not None or item.fluent is not None:
            raise InputError("reworded: is missing, and right and fluent are about it")
        question = DriftQuestion(turns=(turn,), gold=item.recorded_history, own=item.own_history)
        return question.task(turn.record.conversation, practice=right)

    def screens(
        self, task: Task, content: DriftQuestion, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
    ) -> Sequence[StudyStep]:
        histories = both_histories(
            self._window_of(content.gold),
            self._window_of(content.own),
            shared="Both conversations begin with",
            apart=("Conversation 1", "Conversation 2"),
        )
        asked = Text(heading="Question", text=content.recorded_question)
        first = StudyStep(
            id=MEANING,
            heading="One question, two conversations",
            blocks=(*histories, asked),
            fields=(
                Field.choice(
                    "meaning",
                    "Does the question mean the same in both conversations?",
                    {"same": "The same", "changed": "Not the same", "unsure": "Can't say"},
                ),
            ),
            final=SWAYED if content.rewordings else "",
        )
        # Before it is answered nothing may tell that the question was reworded.
        if MEANING not in answers:
            return [first]
        return [
            first,
            *(
                _rewording_step(number, text, [*histories, asked])
                for number, text in enumerate(content.rewordings, start=1)
            ),
        ]

    def _window_of(self, history: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
        return history if self.window is None else history[-self.window :]

    def results(self, state: StudyState) -> Results:
        return drift_results(state)


def _rewording_step(number: int, text: str, blocks: Sequence[Block]) -> StudyStep:
    return StudyStep(
        id=rewording(number),
        heading="The question in other words",
        blocks=(*blocks, Text(heading="In other words, to be asked in conversation 2", text=text)),
        fields=(
            Field.choice(
                "right",
                "Do these words mean in conversation 2 what the question means in conversation 1?",
                YES_OR_NO,
            ),
            Field.choice("fluent", "Would a person put it like this?", YES_OR_NO),
        ),
    )
