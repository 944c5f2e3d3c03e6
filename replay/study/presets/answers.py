"""What all kinds of studies make of answers: who gave which, of runs' turns or in talks, as results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.core.record import Timing, TurnRecord
from replay.core.settings.faults import nearest
from replay.scorers.scorer import SHARE
from replay.statistics.estimate import resampling
from replay.statistics.interval import UndefinedNumber
from replay.statistics.number import number, resample
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
    names = {rater.id: rater.name for rater in state.raters}
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


def live_id(about: str, assignment: int) -> str:
    """Return the id of the talk of *assignment* about the conversation of the data called *about*."""
    return f"{about}~{assignment}"


def live_records(
    assignment: Assignment, about: str, system: str, turns: Sequence[TalkTurn]
) -> list[TurnRecord]:
    """
    Return a record of each question of a talk to which an answer, or a failure, came.

    Its latency counts from the question; its source is *about*, with whose other talks it is resampled.
    """
    conversation = live_id(about, assignment.id)
    return [
        TurnRecord(
            system=system,
            policy=POLICY,
            conversation=conversation,
            depth=turn.depth,
            turn=f"{conversation}#{turn.depth}",
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
            source=about,
        )
        for turn in turns
        if turn.outcome is not None
    ]


def data_set_conversation(
    live: Conversation, turns: Sequence[Turn], origin: Mapping[str, object]
) -> Conversation:
    """Return *live* as a conversation of a data set: with *turns* that have gold answers, and its origin."""
    return replace(live, turns=tuple(turns), metadata={**live.metadata, "study": origin})


def live_conversation(about: Conversation, assignment: Assignment, turns: Sequence[TalkTurn]) -> Conversation:
    """
    Return the questions of a talk, without gold answers; title, passages and the like are those of *about*.
    """
    id = live_id(about.id, assignment.id)
    return replace(
        about,
        id=id,
        turns=tuple(Turn(id=f"{id}#{turn.depth}", question=turn.question) for turn in turns),
    )
