"""
Answers that raters part on: a further person's task, what is final, and a list to look at.

What that person says is final. Elsewhere it is the majority of yes and no, without a value where there are
as many of one as of the other, and on longer scales the mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import msgspec

from replay.core.decoding import converted
from replay.statistics.majority import disagreements, majority
from replay.statistics.rated_item import RatedItem
from replay.statistics.undefined import Undefined
from replay.study.presets.criterion import Criterion
from replay.study.presets.run_turns import RunTurn
from replay.study.results import Table
from replay.study.tasks import Judgement, NewTask, StudyState, Task

STEP = "rate"
"""The only screen of either kind of task."""


class Adjudicated(msgspec.Struct, frozen=True, kw_only=True):
    """What the further person's task holds."""

    of: int
    """The id of the task that raters part on."""
    turn: RunTurn
    criteria: tuple[str, ...]
    """Those that they part on."""
    ratings: str
    """What they said, without names."""


def adjudication(
    state: StudyState,
    task: Task,
    criteria: Mapping[str, Criterion],
    *,
    above: int,
    only: tuple[int, ...] | None,
) -> NewTask | None:
    """
    The task for another person, where two ratings of *task* lie further apart than *above*; else None.

    It goes to those in *only*, and to nobody who rated the answer.
    """
    given = [one for one in state.done if one.task == task.id]
    said = [state.answers[one.id][STEP] for one in given]
    split = []
    for name in criteria:
        ratings = [int(one.answer[name]) for one in said]
        if max(ratings) - min(ratings) > above:
            split.append(name)
    if not split or any(one.content.get("of") == task.id for one in state.tasks.values()):
        return None
    turn = converted(task.content, RunTurn)
    shown = [f"{criteria[name].question} {_said(said, name, criteria[name])}" for name in split]
    content = Adjudicated(of=task.id, turn=turn, criteria=tuple(split), ratings="\n".join(shown))
    return NewTask(
        kind="adjudicate",
        content=msgspec.to_builtins(content),
        conversation=task.conversation,
        system=task.system,
        raters=1,
        only=only,
        never=tuple(one.rater for one in given),
        sources=tuple(one.id for one in given),
    )


def is_rated_on(state: StudyState, rater: int) -> bool:
    """Whether others have yet to rate an answer that *rater* has not rated, and so may have to settle."""
    taking_part = {one.id for one in state.raters if not (one.left_at or one.failed_at or one.withdrawn_at)}
    rated_by: dict[int, set[int]] = defaultdict(set)
    for one in state.done:
        rated_by[one.task].add(one.rater)
    for task in state.tasks.values():
        if task.kind != "rate" or task.practice is not None or rater in rated_by[task.id]:
            continue
        yet = taking_part - {rater, *task.never} - rated_by[task.id]
        if yet and (task.raters is None or len(rated_by[task.id]) < task.raters):
            return True
    return False


def _said(said: Sequence[Judgement], name: str, criterion: Criterion) -> str:
    return ", ".join(_with_comment(criterion.scale[int(one.answer[name])], one) for one in said)


def _with_comment(text: str, judgement: Judgement) -> str:
    return f"{text} ({judgement.comment})" if judgement.comment else text


@dataclass(slots=True, kw_only=True)
class RatedAnswer:
    """All that was said of one answer."""

    turn: RunTurn
    said: dict[str, Judgement] = field(default_factory=dict)
    """By rater, without who adjudicated."""
    adjudicated: Judgement | None = None

    def ratings(self, name: str) -> dict[str, int]:
        """By rater."""
        return {rater: int(one.answer[name]) for rater, one in self.said.items()}

    def final(self, name: str, criterion: Criterion) -> float | None:
        """What counts in the end; None where raters are undecided."""
        if self.adjudicated is not None and name in self.adjudicated.answer:
            return float(self.adjudicated.answer[name])
        ratings = list(self.ratings(name).values())
        if not criterion.is_yes_or_no:
            return fmean(ratings)
        most = majority(ratings)
        return None if isinstance(most, Undefined) else float(most)


def rated_answers(state: StudyState) -> list[RatedAnswer]:
    """The answers that anybody has rated, in the order of their tasks."""
    names = {rater.id: rater.name for rater in state.raters}
    found: dict[int, RatedAnswer] = {}
    for one in sorted(state.done, key=lambda one: (state.tasks[one.task].kind == "adjudicate", one.task)):
        task, judgement = state.tasks[one.task], state.answers[one.id][STEP]
        if task.kind == "rate":
            rated = found.setdefault(task.id, RatedAnswer(turn=converted(task.content, RunTurn)))
            rated.said[names[one.rater]] = judgement
        elif task.content["of"] in found:  # else those who rated it have withdrawn
            found[task.content["of"]].adjudicated = judgement
    return list(found.values())


def disagreement_table(answers: Sequence[RatedAnswer], criteria: Mapping[str, Criterion]) -> Table:
    """The answers on which raters differ, with all that is needed to look at them."""
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
    return Table(
        title="Answers on which raters differ",
        columns=(
            *("conversation", "depth", "system", "policy", "criterion", "question"),
            *("right answer", "answer", "ratings", "final"),
        ),
        rows=rows,
        caption="Those with the most pairs of differing ratings first. Final is what a further person said "
        "of it; else the majority of yes and no, empty where there is none, or the mean of a longer scale.",
    )
