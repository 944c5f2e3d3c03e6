"""
How far a study's raters agree, and where they part, whatever the preset: in each field that people choose in,
over the screens that two or more of them have answered.

Where tasks are one person's, as talks are, screens of two tasks are the same if they show the same: the same
question after the same conversation, with the same answer and passages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace

from replay.scorers.scorer import SHARE
from replay.statistics.people import HumanNumber, number_text
from replay.statistics.rater_agreement import Level, RatedItem, disagreements
from replay.statistics.rater_table import rater_agreement_of
from replay.study.running.own_questions import steps_of_task
from replay.study.running.study_file import StudyFile
from replay.study.steps import Field, Option, StudyStep
from replay.study.tasks import Assignment, StudyState


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAgreement:
    """How far raters agree in what they choose in one field."""

    kind: str
    field: str
    label: str
    items: int
    """Screens that two or more have answered."""
    equal: HumanNumber
    """The share of pairs of answers to one screen that are equal."""
    cohen: HumanNumber
    fleiss: HumanNumber
    alpha: HumanNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDisagreement:
    """A screen that raters answered differently."""

    tasks: tuple[int, ...]
    """One, or several with the same screen."""
    label: str
    answers: Mapping[str, str]
    """By rater, as the options are called."""


def steps_of(file: StudyFile, state: StudyState, one: Assignment) -> Sequence[StudyStep]:
    """Return the screens of *one* as its rater has answered them."""
    answers = {step: judged.answer for step, judged in state.answers.get(one.id, {}).items()}
    task = replace(state.tasks[one.task], draw=one.draw)
    return steps_of_task(file, task, state.talks.get(one.id, ()), answers)


@dataclass(slots=True)
class _Shared:
    """A field of a screen that several raters may have answered."""

    field: Field
    conversation: str
    tasks: list[int] = dataclass_field(default_factory=list)
    chosen: dict[str, Option] = dataclass_field(default_factory=dict)
    """By rater; of one who met the same screen twice, the first time."""

    @property
    def item(self) -> RatedItem:
        ratings = {
            rater: one.value if one.meaning is None else one.meaning for rater, one in self.chosen.items()
        }
        return RatedItem(conversation=self.conversation, ratings=ratings)


def field_agreement(
    file: StudyFile, state: StudyState, names: Mapping[int, str], resamples: int
) -> tuple[list[FieldAgreement], list[FieldDisagreement]]:
    """
    Return agreement by field, and the screens on which raters part, the worst of each field first.

    *names* are those of raters; with ``resamples=0`` there are no intervals.
    """
    # By kind of work and field: the screens, by what makes them the same.
    screens: dict[tuple[str, str], dict[object, _Shared]] = defaultdict(dict)
    shared = Counter(one.task for one in state.done)
    for one in state.done:
        task, answers = state.tasks[one.task], state.answers.get(one.id, {})
        for step in steps_of(file, state, one):
            same = (
                (task.id, step.id)
                if shared[task.id] > 1
                else (task.system, task.conversation, repr(step.blocks))
            )
            for field in step.fields:
                judged = answers[step.id].answer.get(field.name) if step.id in answers else None
                option = next((each for each in field.options if each.value == judged), None)
                if option is None:
                    continue
                found = screens[task.kind, field.name].setdefault(same, _Shared(field, task.conversation))
                found.chosen.setdefault(names[one.rater], option)
                if task.id not in found.tasks:
                    found.tasks.append(task.id)
    agreement, partings = [], []
    for (kind, name), by_screen in screens.items():
        several = [one for one in by_screen.values() if len(one.chosen) > 1]
        if not several:
            continue
        field = several[0].field
        numbers = all(isinstance(option.value, int) for option in field.options)
        level: Level = "ordinal" if numbers and len(field.options) > 2 else "nominal"
        items = [replace(one.item, id=str(place)) for place, one in enumerate(several)]
        total = rater_agreement_of(
            items, level=level, pairs=False, resamples=resamples, seed=file.study.seed
        ).total
        agreement.append(
            FieldAgreement(
                kind=kind,
                field=name,
                label=field.label,
                items=total.shared,
                equal=number_text(total.agreement, SHARE),
                cohen=number_text(total.cohen),
                fleiss=number_text(total.fleiss),
                alpha=number_text(total.alpha),
            )
        )
        for parting in disagreements(items):
            screen = several[int(parting.item.id or 0)]
            shown = {rater: _labelled(option) for rater, option in screen.chosen.items()}
            partings.append(FieldDisagreement(tasks=tuple(screen.tasks), label=field.label, answers=shown))
    return agreement, partings


def _labelled(option: Option) -> str:
    return option.label if option.meaning is None else f"{option.label} ({option.meaning})"
