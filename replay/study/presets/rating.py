"""
``rating``: answers of a run, judged one by one, the same ones by every rater.

As in the thesis' human answer check: two raters, the same 100 randomly drawn answers, shown question,
passage, gold answer and generated answer; 1 if the answer covers the information of the gold answer; Cohen's
kappa.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.core.conversation import Conversation, Passage
from replay.core.errors import InputError
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.study.preset import Material
from replay.study.results import HumanScore, Results, TurnKey
from replay.study.steps import Answer, Block, Field, Option, Passages, Step, Text, Transcript
from replay.study.tasks import Assignment, NewTask, StudyState, TalkPlan, TalkTurn, Task

INSTRUCTIONS = """\
You will see questions from conversations, each with the passage that it is about, the answer that is known \
to be right, and an answer that was given.

Say whether the given answer covers the information of the right one. It need not have the same words, and \
it may say more, as long as nothing of that is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """Its settings, and what it does with them."""

    answers: int = 100
    """How many are drawn of all answered turns with a gold answer."""
    question: str = "Does the answer cover the information of the right answer?"
    scale: Mapping[str, str] | None = None
    """Numbers and what they mean, in order: ``{"1": bad, "5": good}``; no and yes, 0 and 1, if left out."""
    show_history: bool = True

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"runs"})

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def tasks(self, material: Material) -> Sequence[NewTask]:
        found: list[NewTask] = []
        for run in material.runs.values():
            conversations = {one.id: one for one in run.conversations()}
            history: dict[tuple[str, str, str], list[Exchange]] = {}
            for record in run.records():
                before = history.setdefault((record.system, record.policy, record.conversation), [])
                if record.outcome == "answered" and record.gold_answers:
                    about = conversations[record.recorded_conversation]
                    found.append(_task(record, tuple(before), about))
                if record.answer is not None:
                    before.append(Exchange(question=record.asked, answer=record.answer))
        if not found:
            raise InputError(
                "runs: no turn has both an answer and a gold answer, so there is nothing to rate"
            )
        return random.Random(material.seed).sample(found, min(self.answers, len(found)))

    def practice(self, items: Sequence[Mapping[str, Any]]) -> Sequence[NewTask]:
        raise NotImplementedError

    def talk(self, task: Task) -> TalkPlan | None:
        return None

    def steps(self, task: Task, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]) -> Sequence[Step]:
        content = msgspec.convert(task.content, RatedAnswer)
        blocks: list[Block] = []
        if content.passages:
            blocks.append(Passages(heading="Passage", passages=content.passages))
        if self.show_history and content.history:
            blocks.append(Transcript(heading="Before", exchanges=content.history))
        blocks += [
            Text(heading="Question", text=content.record.asked),
            Text(heading="Right answer", text=content.record.gold_answers[0]),
            Text(heading="Answer to judge", text=content.record.answer or ""),
        ]
        options = [Option(value=1, label="Yes"), Option(value=0, label="No")]
        if self.scale:
            options = [Option(value=int(number), label=label) for number, label in self.scale.items()]
        return [
            Step(
                id="rate",
                heading="Answer",
                blocks=tuple(blocks),
                fields=(Field(name="rating", label=self.question, options=tuple(options)),),
            )
        ]

    def follow_ups(self, state: StudyState, ended: Assignment) -> Sequence[NewTask]:
        return ()

    def results(self, state: StudyState) -> Results:
        names = {rater.id: rater.name for rater in state.raters}
        records: dict[int, TurnRecord] = {}
        scores = []
        for assignment in state.done:
            record = msgspec.convert(state.tasks[assignment.task].content, RatedAnswer).record
            records[assignment.task] = record
            turn = TurnKey(record.system, record.policy, record.conversation, record.depth)
            rating = state.answers[assignment.id]["rate"].answer["rating"]
            rater = names[assignment.rater]
            scores.append(HumanScore(name="human_rating", turn=turn, rater=rater, value=float(rating)))
        return Results(records=tuple(records.values()), conversations=(), scores=tuple(scores))


class RatedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a task of this preset holds."""

    record: TurnRecord
    history: tuple[Exchange, ...]
    passages: tuple[Passage, ...]


def _task(record: TurnRecord, history: tuple[Exchange, ...], about: Conversation) -> NewTask:
    gold = tuple(one for one in about.passages if one.id in record.gold_passages)
    content = RatedAnswer(record=record, history=history, passages=gold or about.passages)
    return NewTask(
        kind="rate",
        content=msgspec.to_builtins(content),
        conversation=record.recorded_conversation,
        system=record.system,
        raters=None,
    )
