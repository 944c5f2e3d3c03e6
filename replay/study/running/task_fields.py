"""
The fields of a study's screens, whatever the preset: questions of the study's own, and how far raters agree.

The study's own questions stand on a task's only screen, else on one at its end. Agreement is that of each
field that people choose in, over the screens that two or more of them have answered. Where tasks are one
person's, as talks are, screens of two tasks are the same if they show the same: the same question after the
same conversation, with the same answer and passages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from statistics import fmean

from replay.scorers.scorer import SHARE
from replay.statistics.people import HumanNumber, HumanTable, number_text
from replay.statistics.rater_agreement import Level, RatedItem, disagreements
from replay.statistics.rater_table import rater_agreement_of
from replay.study.running.study_file import Study, StudyFile
from replay.study.steps import Answer, Field, Option, StudyStep, Value
from replay.study.tasks import Assignment, StudyState, TalkTurn, Task


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


STEP = "own"
"""Their screen, where they have one."""
_BEFORE = "own."
"""Stands before their names, which a preset's fields may have, too."""


def steps_of_task(
    file: StudyFile, task: Task, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
) -> Sequence[StudyStep]:
    """Return the screens of *task*, the study's own questions with them, as far as *answers* decide them."""
    steps = file.preset.steps(task, turns, answers)
    fields = tuple(own_fields(file.study))
    if not fields or not steps or (task.practice is not None and not task.attention):
        return steps
    if steps[0].alone:
        return [replace(steps[0], fields=(*steps[0].fields, *fields))]
    # Once all else is answered: the preset may have further screens until then.
    if any(step.id not in answers for step in steps):
        return steps
    last = StudyStep(id=STEP, heading="A last question", blocks=steps[-1].blocks, fields=fields)
    if len(fields) > 1:
        last = replace(last, heading="A few last questions")
    return [*steps, last]


def own_fields(study: Study) -> list[Field]:
    """Return what asks for the study's own questions."""
    return [
        Field.choice(
            _BEFORE + name,
            one.question,
            one.scale or {choice: choice for choice in one.choices or ()},
            required=one.required,
            help=one.help,
        )
        for name, one in study.questions.items()
    ]


def own_table(study: Study, state: StudyState) -> HumanTable | None:
    """Return what was answered to the study's own questions, by system; None where nothing was."""
    given: dict[tuple[str, str], list[Value]] = defaultdict(list)
    fields = own_fields(study)
    for one in state.done:
        said = {
            name: v for judged in state.answers.get(one.id, {}).values() for name, v in judged.answer.items()
        }
        for field in fields:
            if field.name in said:
                given[field.name, state.tasks[one.task].system or "all"].append(said[field.name])
    rows = []
    for field in fields:
        for (name, system), values in sorted(given.items()):
            if name == field.name:
                numbers = [value for value in values if isinstance(value, int)]
                counted = Counter(values)
                chosen = [f"{option.label}: {counted[option.value]}" for option in field.options]
                mean = fmean(numbers) if numbers else None
                rows.append((name.removeprefix(_BEFORE), system, len(values), mean, "; ".join(chosen)))
    if not rows:
        return None
    return HumanTable(
        title="The study's own questions",
        columns=("question", "system", "answers", "mean", "chosen"),
        rows=rows,
        caption="Texts are in judgements.csv alone.",
    )
