"""
Items with known answers: before the work, in the order of their file, until enough are right; and among it.

Where feedback is off, practice is a qualification. As everything else that a rater sees, how far somebody is
follows from the database alone: each item is a task, which is given once in each try.

Attention items look like all other work and count in no result. Each person meets one in every so many
pieces of work, at a spot and in an order drawn for them. Platforms let one turn somebody away for failing
such items, Prolific from the second one on where a study takes more than five minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

from replay.core.errors import DatasetError, Fault, InputError
from replay.datasets.json_rows import rows_of_lines
from replay.study.preset import Field, Preset, StudyStep, read_answer
from replay.study.running.participation import stop
from replay.study.running.study_file import StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import Answer, Assignment, Judgement, NewTask, Rater, Task, Value, draw_number


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticePosition:
    """Which item of how many."""

    number: int
    """From 1."""
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedField:
    """What was answered to a field of a practice item, beside what is right."""

    heading: str
    """Of the field's screen."""
    label: str
    given: str | None
    """None where the answers before led past the field."""
    right: str
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackScreen:
    """After a practice item: what was right."""

    assignment: Assignment
    steps: Sequence[StudyStep]
    """The item's screens, to look at once more."""
    checked: Sequence[CheckedField]
    why: str
    """The item's own words on its right answers."""
    position: PracticePosition


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeOverScreen:
    """After the last item of a try that didn't fail for good."""

    assignment: Assignment
    """The last one."""
    right: int
    fields: int
    passed: bool
    needed: float
    """The pass mark, in [0, 1]."""
    tries_left: int


class Practice:
    """The practice round of one study."""

    def __init__(self, file: StudyFile, store: StudyStore) -> None:
        self._section = file.study.practice
        self._preset = file.preset
        self._store = store

    @cached_property
    def _items(self) -> dict[int, Task]:
        """By id, in the order of their file; none is added later."""
        return {
            id: task
            for id, task in self._store.tasks().items()
            if task.practice is not None and not task.attention
        }

    def left_out(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        """Return *assignments* without practice items; attention items among the work stay."""
        return [one for one in assignments if one.task not in self._items]

    def is_over(self, rater: Rater) -> bool:
        """Return whether *rater* may work."""
        return self._section is None or rater.qualified_at is not None

    def screen(self, rater: Rater) -> FeedbackScreen | PracticeOverScreen | None:
        """Return the screen that *rater* sees between practice items; None at an item, or after practice."""
        if self._section is None or self.is_over(rater):
            return None
        items, taken = self._items, self._practice_of(rater)
        if not taken:
            return None
        last = taken[-1]
        if last.state == "open":
            return self._feedback(last)
        if len(taken) % len(items):
            return None
        checked = [
            field
            for one in taken[-len(items) :]
            for field in checked_fields(self._preset, items[one.task], self._answers(one))
        ]
        right = sum(field.is_right for field in checked)
        return PracticeOverScreen(
            assignment=last,
            right=right,
            fields=len(checked),
            passed=right / len(checked) >= self._section.pass_mark,
            needed=self._section.pass_mark,
            tries_left=self._section.tries - len(taken) // len(items),
        )

    def position(self, assignment: Assignment) -> PracticePosition:
        """Return the position of a practice item among all."""
        return PracticePosition(number=list(self._items).index(assignment.task) + 1, items=len(self._items))

    def give(self, rater: Rater) -> Assignment | None:
        """Return the next item, durably given; None where practice is over."""
        if self.is_over(rater):
            return None
        with self._store.writing():
            items, taken = self._items, self._practice_of(rater)
            return self._store.give(list(items)[len(taken) % len(items)], rater.id)

    def finish(self, assignment: Assignment, rater: Rater) -> None:
        """End an item all of whose screens were answered; with feedback it stays open until that is read."""
        assert self._section is not None
        if not self._section.feedback:
            self._end(assignment, rater)

    def go_on(self, rater: Rater, assignment: int) -> None:
        """
        Go on after the screen that follows *assignment*: feedback, or the result of a try.

        A repeated click, when that is no longer the last item, does nothing.
        """
        with self._store.writing():
            taken, screen = self._practice_of(rater), self.screen(rater)
            if not taken or taken[-1].id != assignment or screen is None:
                return
            if isinstance(screen, FeedbackScreen):
                self._end(screen.assignment, rater)
            elif screen.passed:
                self._store.mark_rater(rater.id, qualified_at=self._store.now())
            elif screen.tries_left > 0:
                self.give(rater)

    def _end(self, assignment: Assignment, rater: Rater) -> None:
        self._store.end(assignment.id, "done")
        screen = self.screen(rater)
        if isinstance(screen, PracticeOverScreen) and not screen.passed and screen.tries_left <= 0:
            self._store.mark_rater(rater.id, failed_at=self._store.now())

    def _practice_of(self, rater: Rater) -> list[Assignment]:
        """Return the rater's practice, oldest first, over all tries; the last may be open."""
        given = self._store.assignments(rater.id)
        return [one for one in given if one.task in self._items and one.state in ("open", "done")]

    def _answers(self, assignment: Assignment) -> dict[str, Answer]:
        given = self._store.judgements(assignment.id).get(assignment.id, {})
        return {step: judgement.answer for step, judgement in given.items()}

    def _feedback(self, assignment: Assignment) -> FeedbackScreen | None:
        """None as long as screens of the item are unanswered."""
        task, answers = self._items[assignment.task], self._answers(assignment)
        steps = self._preset.steps(task, (), answers)
        if any(step.id not in answers for step in steps):
            return None
        return FeedbackScreen(
            assignment=assignment,
            steps=steps,
            checked=checked_fields(self._preset, task, answers),
            why=str(task.content.get("why", "")),
            position=self.position(assignment),
        )


def checked_fields(preset: Preset, task: Task, answers: dict[str, Answer]) -> list[CheckedField]:
    """
    Return each field of a practice item whose right answer is known, in the order of its screens.

    A field that was never seen, since a wrong answer led past its screen, is wrong. A text is right if it
    holds the right one, white space and case aside.
    """
    seen = {step.id for step in preset.steps(task, (), answers)}
    found = []
    right = task.practice or {}
    for step in preset.steps(task, (), right):
        for field in step.fields:
            expected = right.get(step.id, {}).get(field.name)
            if expected is None:
                continue
            given = answers.get(step.id, {}).get(field.name) if step.id in seen else None
            found.append(
                CheckedField(
                    heading=step.heading,
                    label=field.label,
                    given=None if given is None else _option_label(field, given),
                    right=_option_label(field, expected),
                    is_right=given is not None and _is_right(field, given, expected),
                )
            )
    return found


def _option_label(field: Field, value: Value) -> str:
    return next((option.label for option in field.options if option.value == value), str(value))


def _is_right(field: Field, given: Value, expected: Value) -> bool:
    return given == expected or (not field.options and _plain(expected) in _plain(given))


def _plain(value: Value) -> str:
    return " ".join(str(value).casefold().split())


def known_tasks(file: StudyFile) -> tuple[list[NewTask], list[Fault]]:
    """
    Return the tasks of the study's files of items with known answers, and all that is wrong in those.
    """
    practice, attention = file.study.practice, file.study.attention
    found, faults = ([], []) if practice is None else _read(file, practice.items, "practice.items")
    among, more = ([], []) if attention is None else _read(file, attention.items, "attention.items")
    return [*found, *(replace(one, attention=True) for one in among)], [*faults, *more]


def _read(file: StudyFile, items: Path, key_path: str) -> tuple[list[NewTask], list[Fault]]:
    """Return the tasks of the file *items*, and all that is wrong in it, by file, line and field."""
    found: list[NewTask] = []
    errors: list[InputError] = []
    path = file.folder / items
    try:
        for place, item in rows_of_lines(path, file.preset.practice_item):
            if isinstance(item, DatasetError):
                errors.append(item)
                continue
            try:
                task = file.preset.practice(item)
                _check(file.preset, task)
            except InputError as error:
                errors.append(place.error(str(error)))
                continue
            found.append(replace(task, content={**task.content, "why": item.why}, raters=None))
        if not found and not errors:
            raise DatasetError("holds no item; write one with its right answers on each line", path=str(path))
    except DatasetError as error:
        errors.append(error)
    return found, [Fault(path=key_path, message=str(error)) for error in errors]


def _check(preset: Preset, new: NewTask) -> None:
    """
    Raises:
        InputError: a right answer is none that its screen takes, or there are none.
    """
    right = new.practice or {}
    if not any(right.values()):
        raise InputError("has no right answer, so nothing could be told of whoever practises with it")
    task = Task(id=0, **{field.name: getattr(new, field.name) for field in fields(NewTask)})
    steps = {step.id: step for step in preset.steps(task, (), right)}
    for id, answer in right.items():
        _, faults = read_answer(steps[id], {name: str(value) for name, value in answer.items()})
        for field in steps[id].fields:
            if field.name in answer and field.name in faults:
                shown = ", ".join(f"{option.value} ({option.label})" for option in field.options)
                why = f"it takes {shown}" if shown else faults[field.name]
                raise InputError(f'{field.name}: "{answer[field.name]}" can\'t be the right answer; {why}')


class Attention:
    """The attention items of one study."""

    def __init__(self, file: StudyFile, store: StudyStore) -> None:
        self._section = file.study.attention
        self._preset = file.preset
        self._seed = file.study.seed
        self._store = store

    @cached_property
    def _items(self) -> dict[int, Task]:
        """By id; none is added later."""
        return {id: task for id, task in self._store.tasks().items() if task.attention}

    def among(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        """Return the attention items among *assignments* that are open or done."""
        return [one for one in assignments if one.task in self._items and one.counts]

    def due(self, rater: Rater) -> Task | None:
        """
        Return the item that *rater* is to be given before further work; None where it isn't time for one.
        """
        if self._section is None:
            return None
        assignments = self._store.assignments(rater.id)
        taken = self.among(assignments)
        left = set(self._items) - {one.task for one in taken}
        every, number = self._section.every, len(taken)
        spot = number * every + draw_number(self._seed, rater.id, number) % every
        done = sum(one.state == "done" for one in assignments if self._store.task(one.task).practice is None)
        if done < spot or not left:
            return None
        return self._items[min(left, key=lambda id: draw_number(self._seed, rater.id, id))]

    def finish(self, assignment: Assignment, rater: Rater) -> None:
        """End an item all of whose screens were answered; stop a rater who has had too many wrong."""
        assert self._section is not None
        self._store.end(assignment.id, "done")
        taken = self.among(self._store.assignments(rater.id))
        wrong = sum(
            is_wrong(self._preset, self._items[one.task], self._store.judgements(one.id)[one.id])
            for one in taken
        )
        if self._section.stop_after is not None and wrong >= self._section.stop_after:
            stop(self._store, rater.id)


def is_wrong(preset: Preset, task: Task, given: Mapping[str, Judgement]) -> bool:
    """Return whether anything was answered to an attention item that is not what is known to be right."""
    answers = {step: judgement.answer for step, judgement in given.items()}
    return not all(field.is_right for field in checked_fields(preset, task, answers))
