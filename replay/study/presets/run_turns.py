"""
The turns of runs and of talks, as people are shown and have judged them; and how a few are drawn of many.

What is drawn in strata goes to them by the method of Sainte-Laguë: each further turn to the stratum whose
(drawn + 1/2)/share is least. With the strata's sizes as shares the draw has their proportions, so that means
over it need no weights; with equal shares rare ones are met as often as common ones.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.core.history import Exchange, gold_history
from replay.core.record import Timing, TurnRecord
from replay.core.settings.faults import nearest
from replay.scorers.scorer import SHARE
from replay.statistics.estimate import number, resample, resampling
from replay.statistics.interval import UndefinedNumber
from replay.statistics.people import HumanNumber, number_text
from replay.study.preset import (
    Block,
    JudgedTurnKey,
    Material,
    Origin,
    Passages,
    Results,
    SideBySide,
    TaskContent,
    Text,
    Transcript,
)
from replay.study.tasks import Answer, Assignment, Judgement, StudyState, TalkTurn, Task

T = TypeVar("T")
ADDED = "added"
"""In the place of a run and of a policy: the item came while the study went on."""


class RunTurn(TaskContent, frozen=True, kw_only=True):
    """A turn of a run."""

    kind: ClassVar[str] = "rate"
    record: TurnRecord
    """Where several runs have its system under its policy, the system is called ``NAME (RUN)``."""
    history: tuple[Exchange, ...]
    """What its system was shown before it."""
    gold: tuple[Exchange, ...]
    """What was recorded before it."""
    passages: tuple[Passage, ...]
    """Those that hold its answer, or all of its conversation where that isn't known."""
    run: str
    """The run's name."""
    system: str
    """The system's name there."""

    @property
    def key(self) -> JudgedTurnKey:
        return JudgedTurnKey.of(self.record)

    @property
    def bare(self) -> RunTurn:
        """Without the texts that other turns of a task have too."""
        return msgspec.structs.replace(self, history=(), gold=(), passages=())


def run_turns(material: Material, *, answered: bool = True) -> list[RunTurn]:
    """
    Return every turn of the runs, or each that was *answered*, by run, conversation, system, policy and
    depth.
    """
    found = []
    for run, played in material.runs.items():
        for case in played.cases():
            record, conversation = case.record, case.conversation
            if answered and record.outcome != "answered":
                continue
            holding = tuple(one for one in conversation.passages if one.id in record.gold_passages)
            found.append(
                RunTurn(
                    record=record,
                    history=case.history,
                    gold=gold_history(conversation, record.depth),
                    passages=holding or conversation.passages,
                    run=run,
                    system=record.system,
                )
            )
    return _told_apart(found)


def _told_apart(turns: Sequence[RunTurn]) -> list[RunTurn]:
    """Return *turns* with names of systems under which no two runs meet."""
    runs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for turn in turns:
        runs[turn.system, turn.record.policy].add(turn.run)
    shared = {system for (system, _), names in runs.items() if len(names) > 1}
    return [_of_run(turn) if turn.system in shared else turn for turn in turns]


def _of_run(turn: RunTurn) -> RunTurn:
    record = msgspec.structs.replace(turn.record, system=f"{turn.system} ({turn.run})")
    return msgspec.structs.replace(turn, record=record)


def practice_turn(
    question: str, answer: str, gold_answer: str | None, *, passage: str, history: tuple[Exchange, ...]
) -> RunTurn:
    """Return a turn of no run."""
    name = "practice"
    record = TurnRecord(
        system=name,
        policy=name,
        conversation=name,
        depth=len(history) + 1,
        turn=name,
        recorded=question,
        asked=question,
        edit="kept",
        drift=None,
        outcome="answered",
        answer=answer,
        gold_answers=() if gold_answer is None else (gold_answer,),
    )
    passages = (Passage(id=name, text=passage),) if passage else ()
    return RunTurn(record=record, history=history, gold=(), passages=passages, run=name, system=name)


def added_turn(
    question: str, answer: str, gold_answer: str | None, *, passage: str, system: str, conversation: str
) -> RunTurn:
    """Return a turn that is in no run: added while the study goes on, each its own *conversation*."""
    turn = practice_turn(question, answer, gold_answer, passage=passage, history=())
    record = msgspec.structs.replace(
        turn.record, system=system, policy=ADDED, conversation=conversation, turn=f"{conversation}#1"
    )
    return msgspec.structs.replace(turn, record=record, run=ADDED, system=system)


def conversation_of(turn: RunTurn) -> Conversation:
    """Return a conversation of one turn, with the recorded question, gold answers and passages of *turn*."""
    record = turn.record
    asked = Turn(id=record.turn, question=record.recorded, gold_answers=record.gold_answers)
    return Conversation(id=record.conversation, turns=(asked,), passages=turn.passages)


def draw_turns(
    items: Sequence[T],
    count: int,
    rng: random.Random,
    *,
    stratum: Callable[[T], Hashable] = lambda item: None,
    evenly: bool = False,
) -> list[T]:
    """
    Return *count* of *items* or all, without repetition and in an order drawn by *rng*.

    Each stratum gets its share of them, or with *evenly* as many as every other, as far as it has so many.
    """
    strata: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    for members in strata.values():
        rng.shuffle(members)
    share = {name: 1 if evenly else len(members) for name, members in strata.items()}
    taken = dict.fromkeys(strata, 0)
    for _ in range(min(count, len(items))):
        open_ = [name for name, members in strata.items() if taken[name] < len(members)]
        taken[min(open_, key=lambda name: (taken[name] + 0.5) / share[name])] += 1
    found = [item for name, members in strata.items() for item in members[: taken[name]]]
    rng.shuffle(found)
    return found


def passage_block(passages: tuple[Passage, ...]) -> list[Block]:
    """Return *passages* to read, if there are any."""
    if not passages:
        return []
    return [Passages(heading="Passage" if len(passages) == 1 else "Passages", passages=passages)]


def gold_block(record: TurnRecord) -> Text:
    """Return the known answers to *record*, of which there is one at least."""
    several = len(record.gold_answers) > 1
    return Text(
        heading="Right answer, in several wordings" if several else "Right answer",
        text="\n".join(record.gold_answers),
    )


def both_histories(
    first: tuple[Exchange, ...], second: tuple[Exchange, ...], *, shared: str, apart: tuple[str, str]
) -> list[Block]:
    """
    Return two histories to read: what they begin with once, and side by side from where they differ.

    *shared* and *apart* are the headings.
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    blocks: list[Block] = [Transcript(heading=shared, exchanges=first[:same])] if same else []
    if first != second:
        one, other = (
            Transcript(heading=heading, exchanges=history[same:], first=same + 1, other=beside[same:])
            if history[same:]
            else Text(heading=heading, text="(nothing)")
            for heading, history, beside in zip(apart, (first, second), (second, first), strict=True)
        )
        blocks.append(SideBySide(blocks=(one, other)))
    return blocks


Content = TypeVar("Content", bound=TaskContent)
YES_OR_NO: Mapping[int, str] = {1: "Yes", 0: "No"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTask(Generic[Content]):
    """A task that somebody has done."""

    task: Task
    content: Content
    judgements: dict[str, Mapping[str, Judgement]] = field(default_factory=dict)
    """By rater's name and screen."""


def answered_tasks(state: StudyState, content: type[Content]) -> list[AnsweredTask[Content]]:
    """Return the tasks with *content* that anybody has done, as they were first done, with all answers."""
    names = state.names
    found: dict[int, AnsweredTask[Content]] = {}
    for one in state.done:
        task = state.tasks[one.task]
        if task.kind == content.kind:
            if task.id not in found:
                found[task.id] = AnsweredTask(task=task, content=convert_to(task.content, content))
            found[task.id].judgements[names[one.rater]] = state.answers[one.id]
    return list(found.values())


def answers_of(state: StudyState, assignment: Assignment) -> dict[str, Answer]:
    """Return what was answered in *assignment*, by screen."""
    return {step: one.answer for step, one in state.answers.get(assignment.id, {}).items()}


def results_of_turns(state: StudyState, turns: Sequence[RunTurn], **found: Any) -> Results:
    """Return *found*, other fields of the results, with the *turns* of runs that they are about."""
    records = [turn.record for turn in turns]
    return Results(
        records=records,
        conversations=state.conversations_of(records),
        origins={
            (one.record.system, one.record.policy): Origin(run=one.run, system=one.system) for one in turns
        },
        **found,
    )


def share_number(values: Iterable[tuple[str, float | None]], nothing: str) -> HumanNumber:
    """
    Return the mean of 0/1 values, each with its topic; turns of one topic are resampled together.

    Values of None are left out; *nothing* says why there is none.
    """
    known = [(topic, float(value)) for topic, value in values if value is not None]
    if not known:
        return HumanNumber(value=None, note=nothing, unit=SHARE)
    drawn, cell = resampling([topic for topic, _ in known], resamples=1000, seed=0), range(len(known))
    features = np.array([[value, 1.0] for _, value in known])
    found = resample(features, cell, drawn, lambda sums: sums[:, 0] / sums[:, 1])
    undefined = UndefinedNumber(reason=nothing)
    return number_text(number(found, cell, drawn, scale="share", undefined=undefined), SHARE)


def check_known(key: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    """
    Make sure that runs have what is asked for under *key* of the preset's settings.

    Raises:
        InputError: they have something else.
    """
    there = sorted(known)
    for missing in sorted(set(wanted) - set(there)):
        raise InputError(
            f'preset.{key}: no run has "{missing}"{nearest(missing, there)} (there are {", ".join(there)})'
        )


POLICY = "live"
"""Of records of talks: nothing was replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTalk:
    """A finished talk with a system, as the conversation and the records that everything else reads."""

    assignment: Assignment
    rater: str
    system: str
    about: Conversation
    """The conversation of the data that is its topic."""
    turns: Sequence[TalkTurn]
    answers: Mapping[str, Answer]
    """By screen: the rater's own."""

    @property
    def id(self) -> str:
        return f"{self.about.id}~{self.assignment.id}"

    def records(self) -> list[TurnRecord]:
        """
        Return a record of each question to which an answer, or a failure, came.

        Its latency counts from the question; its source is the topic, with whose other talks it is resampled.
        """
        return [
            TurnRecord(
                system=self.system,
                policy=POLICY,
                conversation=self.id,
                depth=turn.depth,
                turn=f"{self.id}#{turn.depth}",
                recorded=turn.question,
                asked=turn.question,
                edit="kept",
                drift=None,
                outcome=turn.outcome,
                answer=turn.answer,
                error=turn.error,
                passages=turn.passages,
                attempts=turn.attempts,
                timing=None
                if turn.latency_s is None
                else Timing(scheduled_s=0.0, sent_s=0.0, done_s=turn.latency_s),
                source=self.about.id,
            )
            for turn in self.turns
            if turn.outcome is not None
        ]

    def conversation(self) -> Conversation:
        """Return its questions, without gold answers; title, passages and the like are those of its topic."""
        turns = [Turn(id=f"{self.id}#{turn.depth}", question=turn.question) for turn in self.turns]
        return replace(self.about, id=self.id, turns=tuple(turns))

    def with_gold(
        self, preset: str, turns: Iterable[Turn], passages: Iterable[Passage], **origin: object
    ) -> Conversation:
        """Return it as a conversation of a data set: with *turns* that have gold answers, and its origin."""
        origin = {"preset": preset, "topic": self.about.id, "system": self.system, **origin}
        metadata = {**self.about.metadata, "study": origin}
        return replace(self.conversation(), turns=tuple(turns), passages=tuple(passages), metadata=metadata)


def live_talks(state: StudyState, about: Callable[[Task], Conversation]) -> list[LiveTalk]:
    """Return the finished talks, in the order in which they were given; *about* gives a task's topic."""
    return [
        LiveTalk(
            assignment=one,
            rater=state.names[one.rater],
            system=task.system or "",
            about=about(task),
            turns=state.talks.get(one.id, ()),
            answers=answers_of(state, one),
        )
        for one in state.done
        if (task := state.tasks[one.task]).kind == "talk"
    ]
