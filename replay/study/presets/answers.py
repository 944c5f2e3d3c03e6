"""What all kinds of studies make of answers: who gave which, of runs' turns or in talks, as results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec.structs import replace

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.core.record import Timing, TurnRecord
from replay.core.settings.faults import nearest
from replay.scorers.scorer import SHARE
from replay.statistics.estimate import number, resample, resampling
from replay.statistics.interval import UndefinedNumber
from replay.statistics.people import HumanNumber, number_text
from replay.study.preset import TaskContent
from replay.study.presets.run_turns import RunTurn
from replay.study.results import Origin, Results
from replay.study.steps import Answer
from replay.study.tasks import Assignment, Judgement, StudyState, TalkTurn, Task

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
