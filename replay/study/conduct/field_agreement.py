"""
How far a study's raters agree, and where they part, whatever the preset: in each field that people choose in,
over the screens that two or more of them have answered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.scorers.scorer import SHARE
from replay.statistics.majority import disagreements
from replay.statistics.people import Number, shown_number
from replay.statistics.rated_item import RatedItem
from replay.statistics.rater_agreement import Level
from replay.statistics.rater_table import rater_agreement_of
from replay.study.conduct.study_file import StudyFile
from replay.study.steps import Field, Step
from replay.study.tasks import Assignment, StudyState


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAgreement:
    """How far raters agree in what they choose in one field."""

    kind: str
    field: str
    label: str
    items: int
    """Screens that two or more have answered."""
    equal: Number
    """The share of pairs of answers to one screen that are equal."""
    cohen: Number
    fleiss: Number
    alpha: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """A screen that raters answered differently."""

    task: int
    step: str
    label: str
    answers: Mapping[str, str]
    """By rater, as the options are called."""


def steps_of(file: StudyFile, state: StudyState, one: Assignment) -> Sequence[Step]:
    """The screens of *one* as its rater has answered them."""
    answers = {step: judged.answer for step, judged in state.answers.get(one.id, {}).items()}
    return file.preset.steps(state.tasks[one.task], state.talks.get(one.id, ()), answers)


def field_agreement(
    file: StudyFile, state: StudyState, names: Mapping[int, str], resamples: int
) -> tuple[list[FieldAgreement], list[Parting]]:
    """
    Agreement by field, and the screens on which raters part, the worst of each field first.

    *names* are those of raters; with ``resamples=0`` there are no intervals.
    """
    # By kind of work and field: what each rater chose on each screen of each task.
    chosen: dict[tuple[str, str], dict[tuple[int, str], dict[str, Any]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    fields: dict[tuple[str, str], Field] = {}
    shared = Counter(one.task for one in state.done)
    for one in state.done:
        if shared[one.task] < 2:
            continue
        kind = state.tasks[one.task].kind
        for step in steps_of(file, state, one):
            for field in step.fields:
                judged = state.answers.get(one.id, {}).get(step.id)
                if field.options and judged is not None and field.name in judged.answer:
                    fields[kind, field.name] = field
                    given = judged.answer[field.name]
                    chosen[kind, field.name][one.task, step.id][names[one.rater]] = given
    agreement, partings = [], []
    for (kind, name), screens in chosen.items():
        field = fields[kind, name]
        items = [
            RatedItem(conversation=state.tasks[task].conversation, ratings=given, id=f"{task} {step}")
            for (task, step), given in screens.items()
            if len(given) > 1
        ]
        if not items:
            continue
        numbers = all(isinstance(option.value, int) for option in field.options)
        level: Level = "ordinal" if numbers and len(field.options) > 2 else "nominal"
        found = rater_agreement_of(items, level=level, pairs=False, resamples=resamples, seed=file.study.seed)
        agreement.append(
            FieldAgreement(
                kind=kind,
                field=name,
                label=field.label,
                items=found.total.shared,
                equal=shown_number(found.total.agreement, SHARE),
                cohen=shown_number(found.total.cohen),
                fleiss=shown_number(found.total.fleiss),
                alpha=shown_number(found.total.alpha),
            )
        )
        labels: dict[object, str] = {option.value: option.label for option in field.options}
        for parting in disagreements(items):
            task, _, place = (parting.item.id or "").partition(" ")
            shown = {rater: labels.get(value, str(value)) for rater, value in parting.item.ratings.items()}
            partings.append(Parting(task=int(task), step=place, label=field.label, answers=shown))
    return agreement, partings
