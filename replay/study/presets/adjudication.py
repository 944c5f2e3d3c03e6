"""
Criteria that answers are rated by, and answers that raters part on: a further person's task, what is final.

What that person says is final. Elsewhere it is the majority of yes and no, without a value where there are
as many of one as of the other, and on longer scales the mean.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar

from replay.core.decoding import convert_to
from replay.statistics.interval import UndefinedNumber
from replay.statistics.people import HumanTable
from replay.statistics.rater_agreement import RatedItem, disagreements, majority
from replay.study.preset import Field, TaskContent
from replay.study.presets.run_turns import RunTurn, answered_tasks
from replay.study.tasks import Assignment, Judgement, NewTask, StudyState, Task

STEP = "rate"
"""The only screen of either kind of task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A question with an ordered scale."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    question: str
    scale: Mapping[int, str] = field(default_factory=lambda: {1: "Yes", 0: "No"})
    """Numbers and what they mean, in the order in which they are shown: ``{1: bad, 2: fair, 3: good}``."""
    help: str = ""
    """In small print below the question."""

    def __post_init__(self) -> None:
        if len(self.scale) < 2 or len(self.scale) > 9:
            raise ValueError(f"scale: has {len(self.scale)} numbers; two to nine can be chosen from")
        if not all(label.strip() for label in self.scale.values()):
            raise ValueError("scale: a number has no label; write {1: bad, 2: good}")

    @property
    def is_yes_or_no(self) -> bool:
        return set(self.scale) == {0, 1}

    def as_field(self, name: str) -> Field:
        """Return the form field called *name* that asks for this criterion."""
        return Field.choice(name, self.question, self.scale, help=self.help)


class Adjudication(TaskContent, frozen=True, kw_only=True):
    """What the further person's task holds."""

    kind: ClassVar[str] = "adjudicate"
    of: int
    """The id of the task that raters part on."""
    turn: RunTurn
    criteria: tuple[str, ...]
    """Those that they part on."""
    ratings: str
    """What they said, without names."""


def adjudications(
    state: StudyState,
    tasks: Iterable[Task],
    criteria: Mapping[str, Criterion],
    *,
    above: int,
    only: tuple[int, ...] | None,
) -> list[NewTask]:
    """
    Return what another person is to settle of *tasks*: those that all have rated whom they wait for.

    Two ratings of one criterion lie further apart than *above*, and nobody was asked to settle it so far.
    Who rates later, or corrects a rating, may add a criterion to an answer that was settled in others. It
    goes to those in *only*, and to nobody who rated the answer.
    """
    awaited = _PendingAdjudication(state)
    settled: dict[int, set[str]] = defaultdict(set)
    for task in state.tasks.values():
        if task.kind == "adjudicate":
            settled[task.content["of"]].update(task.content["criteria"])
    found = []
    for task in tasks:
        rated = awaited.rated[task.id]
        if task.kind != "rate" or task.practice is not None or not rated or awaited.raters(task):
            continue
        said = [state.answers[one.id][STEP] for one in rated]
        split = [
            name
            for name in criteria
            if name not in settled[task.id] and _distance(int(one.answer[name]) for one in said) > above
        ]
        if split:
            found.append(_adjudication(task, rated, said, {name: criteria[name] for name in split}, only))
    return found


def _adjudication(
    task: Task,
    rated: Sequence[Assignment],
    said: Sequence[Judgement],
    split: Mapping[str, Criterion],
    only: tuple[int, ...] | None,
) -> NewTask:
    shown = [
        f"{criterion.question} {_judgements_text(said, name, criterion)}" for name, criterion in split.items()
    ]
    content = Adjudication(
        of=task.id, turn=convert_to(task.content, RunTurn), criteria=tuple(split), ratings="\n".join(shown)
    )
    return content.task(
        task.conversation,
        system=task.system,
        raters=1,
        only=only,
        never=tuple(one.rater for one in rated),
        sources=tuple(one.id for one in rated),
    )


def _distance(ratings: Iterable[int]) -> int:
    every = list(ratings)
    return max(every) - min(every)


class _PendingAdjudication:
    """Who has yet to rate what."""

    def __init__(self, state: StudyState) -> None:
        work = [one for one in state.assignments if one.counts and state.tasks[one.task].practice is None]
        given = Counter(one.rater for one in work)
        most = state.tasks_per_rater
        self._free = {
            one.id
            for one in state.raters
            if one.takes_part and not one.finished_at and (most is None or given[one.id] < most)
        }
        self._open = {(one.task, one.rater) for one in work if one.state == "open"}
        self.rated: dict[int, list[Assignment]] = defaultdict(list)
        """By task."""
        for one in state.done:
            self.rated[one.task].append(one)

    def raters(self, task: Task) -> set[int]:
        """Return the numbers of the raters who haven't rated *task* and still may."""
        rated = {one.rater for one in self.rated[task.id]}
        if task.raters is not None and len(rated) >= task.raters:
            return set()
        return (self._free | {rater for id, rater in self._open if id == task.id}) - {*task.never} - rated


def is_rated_on(state: StudyState, rater: int) -> bool:
    """Return whether others may still rate an answer that *rater* has not rated and may have to settle."""
    awaited = _PendingAdjudication(state)
    return any(
        awaited.raters(task) - {rater}
        for task in state.tasks.values()
        if task.kind == "rate"
        and task.practice is None
        and all(one.rater != rater for one in awaited.rated[task.id])
    )


def _judgements_text(said: Sequence[Judgement], name: str, criterion: Criterion) -> str:
    return ", ".join(_with_comment(criterion.scale[int(one.answer[name])], one) for one in said)


def _with_comment(text: str, judgement: Judgement) -> str:
    return f"{text} ({judgement.comment})" if judgement.comment else text


@dataclass(slots=True, kw_only=True)
class RatedAnswer:
    """All that was said of one answer."""

    turn: RunTurn
    said: dict[str, Judgement] = field(default_factory=dict)
    """By rater, without who adjudicated."""
    settled: dict[str, int] = field(default_factory=dict)
    """By criterion: what a further person said."""

    def ratings(self, name: str) -> dict[str, int]:
        """Return the ratings on the criterion called *name*, by rater."""
        return {rater: int(one.answer[name]) for rater, one in self.said.items()}

    def final(self, name: str, criterion: Criterion) -> float | None:
        """Return the value that counts for the criterion called *name*; None if the raters are undecided."""
        if name in self.settled:
            return float(self.settled[name])
        ratings = list(self.ratings(name).values())
        if not criterion.is_yes_or_no:
            return fmean(ratings)
        most = majority(ratings)
        return None if isinstance(most, UndefinedNumber) else float(most)


def rated_answers(state: StudyState) -> list[RatedAnswer]:
    """Return the answers that anybody has rated, in the order of their tasks."""
    found = {
        one.task.id: RatedAnswer(
            turn=one.content, said={rater: given[STEP] for rater, given in one.judgements.items()}
        )
        for one in sorted(answered_tasks(state, RunTurn), key=lambda one: one.task.id)
    }
    for one in answered_tasks(state, Adjudication):
        if one.content.of in found:  # else those who rated it have withdrawn
            for given in one.judgements.values():
                ratings = {name: int(value) for name, value in given[STEP].answer.items()}
                found[one.content.of].settled.update(ratings)
    return list(found.values())


def disagreement_table(answers: Sequence[RatedAnswer], criteria: Mapping[str, Criterion]) -> HumanTable:
    """Return the answers on which raters differ, with all that is needed to look at them."""
    items = [
        RatedItem(
            id=f"{name} {position}",
            conversation=one.turn.record.recorded_conversation,
            depth=one.turn.record.depth,
            ratings=one.ratings(name),
        )
        for position, one in enumerate(answers)
        for name in criteria
    ]
    rows = []
    for found in disagreements(items):
        name, _, position = (found.item.id or "").partition(" ")
        one = answers[int(position)]
        record, scale = one.turn.record, criteria[name].scale
        rows.append(
            (
                *(record.conversation, record.depth, record.system, record.policy, name, record.asked),
                record.gold_answers[0] if record.gold_answers else None,
                record.answer,
                "; ".join(
                    f"{rater}: {_with_comment(scale[rating], one.said[rater])}"
                    for rater, rating in one.ratings(name).items()
                ),
                one.final(name, criteria[name]),
            )
        )
    return HumanTable(
        title="Answers on which raters differ",
        columns=(
            *("conversation", "depth", "system", "policy", "criterion", "question"),
            *("right answer", "answer", "ratings", "final"),
        ),
        rows=rows,
        caption="Those with the most pairs of differing ratings first. Final is what a further person said "
        "of it; else the majority of yes and no, empty where there is none, or the mean of a longer scale.",
    )
