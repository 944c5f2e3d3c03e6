"""
Questions of the study's own, beside what its preset asks: on a task's only screen, else on one at its end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from replay.statistics.people import HumanTable
from replay.study.running.study_file import Study, StudyFile
from replay.study.steps import Answer, Field, StudyStep, Value
from replay.study.tasks import StudyState, TalkTurn, Task

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
