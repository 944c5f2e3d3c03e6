"""
The screens of tasks: what they show, how they are answered, and how an answer is corrected.

Each screen has an address of its own, so that a page that a browser keeps, restores or sends once more is
always about what it shows. What was answered can be changed for as long as nothing forbids it: the screens
of work that is done stay open, and what is changed there is kept beside what was said first.

The study's own questions stand on a task's only screen, else on one at its end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from replay.core.errors import InputError
from replay.study.database import seconds_between
from replay.study.preset import Field, StudyStep, form_text, read_answer
from replay.study.running.live import Talking
from replay.study.running.participation import is_pilot, tasks_now
from replay.study.running.practice import Practice, PracticePosition
from replay.study.running.study_file import Study, StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import (
    Answer,
    Assignment,
    Index,
    Judgement,
    OpenTalk,
    Rater,
    StudyState,
    TalkTurn,
    Task,
    is_for,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterProgress:
    """How far a rater is."""

    done: int
    """Tasks that are done."""
    left: int | None
    """Tasks that they will be given, the open one among them, as far as that is known."""
    minutes_left: int | None
    """By their own median time for a task; None before there is one."""


def progress_of(
    rater: Rater,
    tasks: Mapping[int, Task],
    given: Mapping[int, int],
    own: Sequence[Assignment],
    active: Collection[int],
    most: int | None,
    to_come: float | None = 0,
) -> RaterProgress:
    """
    Return how far *rater* has come.

    Tasks that any of several people may do are shared out evenly among the *active* raters.

    Args:
        tasks: All tasks, by number.
        given: How many raters have each task, or have done it.
        own: The rater's assignments of real work, without practice.
        active: The numbers of the raters who still take part.
        most: The most tasks that a rater is given; None for no limit.
        to_come: The expected number of the rater's tasks that don't exist yet; None if nobody can tell.
    """
    held = {one.task: one for one in own if one.state != "given-back"}
    done = [one for one in held.values() if one.state == "done"]
    is_open = any(one.state == "open" for one in held.values())
    share = sum(
        _share(task, rater.id, given[task.id], active) for task in tasks.values() if task.id not in held
    )
    # Thirds don't add up to one.
    left = None if to_come is None else is_open + math.ceil(share + to_come - 1e-9)
    if most is not None and left is not None:
        left = min(left, most - len(done))
    took_s = [
        seconds for one in done if (seconds := seconds_between(one.given_at, one.ended_at or "")) is not None
    ]
    minutes = math.ceil(left * median(took_s) / 60) if took_s and left else None
    return RaterProgress(done=len(done), left=left, minutes_left=minutes)


def _share(task: Task, rater: int, given: int, active: Collection[int]) -> float:
    """Of a task that *rater* hasn't been given: how much of it comes to them, in [0, 1]."""
    if not is_for(task, rater, given):
        return 0.0
    if task.raters is None:
        return 1.0
    if task.only is None:
        able = len(active) - len(task.never) - given
    else:
        able = len(set(task.only) & set(active)) - given
    return min(1.0, (task.raters - given) / max(1, able))


TALK = "talk"
"""In the place of a step: the talk that its task begins with."""
SENT_BEFORE = "sent-before"
"""In the place of a field that something is wrong with: the page had been sent, with other answers."""
REFUSED: Mapping[str, str] = {
    "open": "This screen can't be answered now: another one comes first, or its answer stands.",
    "done": "The practice is over; what is changed in it counts no more.",
    "given-back": "This task is with somebody else by now.",
    "set-aside": "This conversation was set aside.",
    "discarded": "This task is with somebody else by now.",
}
"""By the state of an assignment, why its screen isn't saved."""


class ScreenId(NamedTuple):
    """A screen of a task, as its address names it."""

    assignment: int
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkScreen:
    """The talk of a task goes on."""

    talk: OpenTalk
    progress: RaterProgress

    @property
    def id(self) -> ScreenId:
        return ScreenId(self.talk.assignment.id, TALK)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScreen:
    """A screen of a task."""

    assignment: Assignment
    step: StudyStep
    number: int
    """From 1."""
    steps: Sequence[StudyStep]
    """All that are known of this task."""
    reachable: int
    """How many of them may be opened: those that were answered, and the first that was not."""
    given: Judgement | None
    """What was answered here before."""
    back: ScreenId | None
    """The screen before, of this task or of the work before it."""
    practice: PracticePosition | None
    """Which practice item it is; None of work."""
    progress: RaterProgress

    @property
    def id(self) -> ScreenId:
        return ScreenId(self.assignment.id, self.step.id)

    @property
    def corrects(self) -> bool:
        """The task is done: what is saved now is a correction."""
        return self.assignment.state == "done"

    @property
    def stands(self) -> bool:
        """It was answered before, and can't be changed."""
        return self.given is not None and bool(self.step.final)


class TaskScreens:
    """The tasks in raters' hands; its methods may be called from any thread."""

    def __init__(self, file: StudyFile, store: StudyStore, practice: Practice) -> None:
        self._file = file
        self._store = store
        self._practice = practice
        self._talking = Talking(file, store)

    # What is shown -----------------------------------------------------------------------------------

    def screen(
        self, rater: Rater, assignment: Assignment, step_id: str | None = None
    ) -> TalkScreen | StepScreen:
        """
        Return the talk of *assignment* while it goes on; then that step if it is reached, or the first open.
        """
        talk = self._talking.talk(assignment)
        if talk is not None:
            return TalkScreen(talk=talk, progress=self.progress(rater))
        task, given, steps = self._read(assignment)
        reachable = _reachable(steps, given)
        index = next((n for n in range(reachable) if steps[n].id == step_id), reachable - 1)
        step = steps[index]
        return StepScreen(
            assignment=assignment,
            step=step,
            number=index + 1,
            steps=steps,
            reachable=reachable,
            given=given.get(step.id),
            back=ScreenId(assignment.id, steps[index - 1].id) if index else self.last(rater, assignment),
            practice=None if task.practice is None or task.attention else self._practice.position(assignment),
            progress=self.progress(rater),
        )

    def own(self, rater: Rater, assignment_id: int) -> Assignment | None:
        """
        Return the assignment with that id, if *rater* may answer its screens: open, or work that is done.
        """
        found = self._store.assignment(assignment_id)
        if found is None or found.rater != rater.id:
            return None
        is_work = bool(self._practice.left_out([found]))
        return found if found.state == "open" or (found.state == "done" and is_work) else None

    def last(self, rater: Rater, before: Assignment | None = None) -> ScreenId | None:
        """Return the last screen of what *rater* finished last, or last of what was given *before*."""
        finished = [
            one
            for one in self._practice.left_out(self._store.assignments(rater.id))
            if one.state == "done" and (before is None or one.id < before.id)
        ]
        given = self._store.judgements(finished[-1].id) if finished else {}
        return next((ScreenId(id, list(steps)[-1]) for id, steps in given.items()), None)

    def index(self, assignment: Assignment) -> Index | None:
        """Return the index that may be searched: one on a screen of *assignment* that may be seen."""
        if self._talking.talk(assignment) is not None:
            return None
        _, given, steps = self._read(assignment)
        blocks = (block for step in steps[: _reachable(steps, given)] for block in step.blocks)
        return next((block for block in blocks if isinstance(block, Index)), None)

    def progress(self, rater: Rater) -> RaterProgress:
        """Return how far *rater* is."""
        store = self._store
        active = [one.id for one in store.raters() if one.takes_part]
        own = self._practice.left_out(store.assignments(rater.id))
        most = self._file.study.limits.tasks_per_rater
        if most is not None:  # attention items count as all else that is done, or they would stand out
            most += sum(one.counts and store.task(one.task).attention for one in own)
        to_come = 0 if is_pilot(self._file, store) else self._file.preset.to_come(self.state(), rater.id)
        return progress_of(
            rater, tasks_now(self._file, store), store.raters_per_task(), own, active, most, to_come
        )

    def state(self) -> StudyState:
        """Return all of the study, what was said and judged read where it is looked for."""
        most = self._file.study.limits.tasks_per_rater
        return replace(self._store.state(lazily=True), tasks_per_rater=most)

    def _read(self, assignment: Assignment) -> tuple[Task, dict[str, Judgement], Sequence[StudyStep]]:
        """Its task, what was answered, and the screens as far as that decides which they are."""
        task = replace(self._store.task(assignment.task), draw=assignment.draw)
        given = self._store.judgements(assignment.id).get(assignment.id, {})
        return task, given, self._steps(task, self._turns(assignment), given)

    def _turns(self, assignment: Assignment) -> Sequence[TalkTurn]:
        return self._store.talks(assignment.id).get(assignment.id, [])

    def _steps(
        self, task: Task, turns: Sequence[TalkTurn], given: Mapping[str, Judgement]
    ) -> Sequence[StudyStep]:
        answers: dict[str, Answer] = {step: one.answer for step, one in given.items()}
        return steps_of_task(self._file, task, turns, answers)

    # What clicks do ----------------------------------------------------------------------------------

    def answer(
        self, assignment: Assignment, step_id: str, form: Mapping[str, str], click: str
    ) -> tuple[dict[str, str], bool]:
        """
        Keep what *form* answers to a screen of *assignment*, in a transaction of the caller's.

        Returns:
            By field what is wrong with it, and then nothing is kept; and whether all screens of a task that
            was open are answered now.

        Raises:
            InputError: the screen can't be answered, or not any more.
        """
        task, given, steps = self._read(assignment)
        may_be_seen = steps[: _reachable(steps, given)]
        step = next((one for one in may_be_seen if one.id == step_id), None)
        if self._talking.talk(assignment) or step is None or (step.final and step.id in given):
            raise InputError(REFUSED["open"])
        answer, faults = read_answer(step, form)
        faults |= self._unknown_passages(step, answer)
        if faults:
            return faults, False
        comment = form.get("comment", "").strip()[:2_000] if self._file.study.comments else ""
        if self._store.was_judged(click):
            saved = given.get(step.id)
            # A page that was kept by the browser is sent again: lost on its way, or changed meanwhile?
            is_same = saved is not None and (saved.answer, saved.comment) == (answer, comment)
            return ({} if is_same else {SENT_BEFORE: ""}), False
        self._store.keep_judgement(click, assignment.id, step.id, answer, comment)
        given = self._store.judgements(assignment.id)[assignment.id]
        all_answered = all(one.id in given for one in self._steps(task, self._turns(assignment), given))
        return {}, all_answered and assignment.state == "open"

    def refusal(self, rater: Rater, id: ScreenId, form: Mapping[str, str]) -> str:
        """Return why *form* can't be saved, in words for the rater; empty if all of it was saved before."""
        assignment = self._store.assignment(id.assignment)
        if assignment is None or assignment.rater != rater.id:
            return "This task isn't yours; your own link leads to what is."
        saved = self._store.judgements(assignment.id).get(assignment.id, {}).get(id.step)
        if saved is not None and all(form_text(form, name) == str(v) for name, v in saved.answer.items()):
            return ""
        return REFUSED[assignment.state]

    def _unknown_passages(self, step: StudyStep, answer: Answer) -> dict[str, str]:
        """By field, what is wrong with an answer that has to be a passage's id."""
        return {
            field.name: f'no passage of the index is called "{answer[field.name]}"; search it, and take one'
            for field in step.fields
            if field.index is not None
            and field.name in answer
            and not self._store.index.has(str(answer[field.name]), field.index.conversation)
        }


def _reachable(steps: Sequence[StudyStep], given: Mapping[str, Judgement]) -> int:
    """Return how many of *steps* may be seen: those that were answered, and the first that was not."""
    return next((n for n, one in enumerate(steps, start=1) if one.id not in given), len(steps))


def steps_of(file: StudyFile, state: StudyState, one: Assignment) -> Sequence[StudyStep]:
    """Return the screens of *one* as its rater has answered them."""
    answers = {step: judged.answer for step, judged in state.answers.get(one.id, {}).items()}
    task = replace(state.tasks[one.task], draw=one.draw)
    return steps_of_task(file, task, state.talks.get(one.id, ()), answers)


OWN_STEP = "own"
"""The screen of the study's own questions, where they have one."""
OWN_PREFIX = "own."
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
    last = StudyStep(id=OWN_STEP, heading="A last question", blocks=steps[-1].blocks, fields=fields)
    if len(fields) > 1:
        last = replace(last, heading="A few last questions")
    return [*steps, last]


def own_fields(study: Study) -> list[Field]:
    """Return what asks for the study's own questions."""
    return [
        Field.choice(
            OWN_PREFIX + name,
            one.question,
            one.scale or {choice: choice for choice in one.choices or ()},
            required=one.required,
            help=one.help,
        )
        for name, one in study.questions.items()
    ]
