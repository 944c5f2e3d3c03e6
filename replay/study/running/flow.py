"""
What a rater sees next, and what their clicks do.

Consent, instructions, practice, and then task after task. All of it follows from what the database holds, so
that a page that is loaded anew, in another browser or after the server was killed, goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from replay.core.errors import InputError
from replay.study.running.live import Talking
from replay.study.running.participation import give_back_idle, is_pilot, phase_of, take_up_again, tasks_now
from replay.study.running.practice import Attention, FeedbackScreen, Practice, PracticeOverScreen
from replay.study.running.study_file import Ending, StudyFile
from replay.study.running.task_screens import RaterProgress, ScreenId, StepScreen, TalkScreen, TaskScreens
from replay.study.store import StudyStore
from replay.study.tasks import Assignment, Index, NewTask, Rater, draw_number, next_task


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainScreen:
    """A screen without a task."""

    kind: Literal[
        "consent",
        "declined",
        "instructions",
        "wait",
        "done",
        "nothing",
        "paused",
        "closed",
        "failed",
        "stopped",
        "left",
        "erased",
        "set-aside",
    ]
    progress: RaterProgress | None = None
    back: ScreenId | None = None
    """What the person answered last."""
    code: str | None = None
    """What somebody from a platform takes back to it."""
    way_back: str | None = None
    """The address on the platform that takes it."""


Screen: TypeAlias = PlainScreen | TalkScreen | StepScreen | FeedbackScreen | PracticeOverScreen


class Flow:
    """A study's way through its database; its methods may be called from any thread."""

    def __init__(self, file: StudyFile, store: StudyStore) -> None:
        self.file = file
        self.store = store
        self.practice: Practice = Practice(file, store)
        self._attention = Attention(file, store)
        self._talking = Talking(file, store)
        self._tasks = TaskScreens(file, store, self.practice)

    # What is shown -----------------------------------------------------------------------------------

    def screen(self, rater: Rater, *, note: bool = True) -> Screen:
        """
        Return the screen that *rater* sees now; assign a task, durably, if they need a new one.

        Args:
            note: Record that the screen is shown.
        """
        with self.store.writing():
            screen = self._screen(rater)
            if note and isinstance(screen, StepScreen):
                self.store.show(*screen.id)
            return screen

    def screen_at(self, rater: Rater, id: ScreenId, *, note: bool = True) -> TalkScreen | StepScreen | None:
        """
        Return the screen with that *id*: of the open task as far as *rater* has come, or of work that is
        done.

        Unless *note*, it isn't noted that the screen is shown, and nothing is written.

        Returns:
            None where there is no such screen for them, or none any more.
        """
        assignment = self._answerable(rater, id.assignment)
        screen = assignment and self._tasks.screen(rater, assignment, id.step)
        if screen is None or screen.id != id:
            return None
        if note and isinstance(screen, StepScreen):
            self.store.show(*id)
        return screen

    def after(self, rater: Rater, assignment_id: int) -> Screen:
        """Return the screen that follows once one of this assignment was saved; don't record it as shown."""
        rater = self.store.rater(rater.id) or rater  # their answer may have ended their part
        assignment = self._answerable(rater, assignment_id)
        screen = None if assignment is None else self._tasks.screen(rater, assignment)
        # A correction may open a further screen of work that was done.
        if isinstance(screen, StepScreen) and screen.given is None:
            return screen
        return self.screen(rater, note=False)

    def _answerable(self, rater: Rater, assignment_id: int) -> Assignment | None:
        if self._before_work(rater) or self.practice.screen(rater):
            return None
        return self._tasks.own(rater, assignment_id)

    def _screen(self, rater: Rater) -> Screen:
        phase, between = phase_of(self.store), self._before_work(rater)
        begins = between is not None and between.kind in ("consent", "instructions")
        if (phase == "paused" and (between is None or begins)) or (phase == "closed" and begins):
            return PlainScreen(kind=phase)
        if (screen := between or self.practice.screen(rater)) is not None:
            return screen
        assignment = self._open(rater)
        if assignment is None and self._talking.unseen(rater):
            return PlainScreen(kind="set-aside", progress=self.progress(rater))
        if assignment is None and phase == "open":
            assignment = self.practice.give(rater) or self._give(rater)
        if assignment is None:
            return self._nothing_to_do(rater)
        return self._tasks.screen(rater, assignment)

    def _before_work(self, rater: Rater) -> PlainScreen | None:
        """Return the screen before any task (consent, instructions, an end); None if the rater may work."""
        study = self.file.study
        if rater.withdrawn_at:
            return PlainScreen(kind="erased")
        if rater.left_at:
            return PlainScreen(kind="left")
        if rater.stopped_at:
            return self._last_screen(rater, "stopped", "screened_out")
        if rater.finished_at:
            return self._last_screen(rater, "done", "completed")
        if rater.declined_at:
            return self._last_screen(rater, "declined", "declined")
        if study.consent is not None and rater.consent_version != study.consent.version:
            return PlainScreen(kind="consent")
        if rater.instructed_at is None:
            return PlainScreen(kind="instructions")
        if rater.failed_at:
            return self._last_screen(rater, "failed", "screened_out")
        return None

    def _last_screen(
        self, rater: Rater, kind: Literal["done", "nothing", "declined", "failed", "stopped"], ending: Ending
    ) -> PlainScreen:
        """Return the last screen, with what somebody from a platform takes back to it."""
        platform = self.file.study.platform
        if platform is None or not rater.joined_at:
            return PlainScreen(kind=kind)
        return PlainScreen(kind=kind, code=platform.codes.get(ending), way_back=platform.way_back(ending))

    def _open(self, rater: Rater) -> Assignment | None:
        return next((one for one in self.store.assignments(rater.id) if one.state == "open"), None)

    def _give(self, rater: Rater) -> Assignment | None:
        with self.store.writing():
            give_back_idle(self.store, self.file.study.limits.idle_h, but=rater.id)
            assignments = self.store.assignments()
            most = self.file.study.limits.tasks_per_rater
            own = [one for one in assignments if one.rater == rater.id and one.state in ("open", "done")]
            own = self.practice.left_out(own)
            if most is not None and len(own) - len(self._attention.among(own)) >= most:
                return None
            if (item := self._attention.due(rater)) is not None:
                return self.store.give(
                    item.id, rater.id, draw_number(self.file.study.seed, rater.id, item.id)
                )
            if (again := take_up_again(self.store, rater.id)) is not None:
                return again
            seed = self.file.study.seed
            task = next_task(tasks_now(self.file, self.store), assignments, rater.id, seed=seed)
            if task is None and (further := self._further(rater)):
                self.store.add_tasks(further)
                task = next_task(tasks_now(self.file, self.store), assignments, rater.id, seed=seed)
            if task is None:
                return None
            return self.store.give(task.id, rater.id, draw_number(seed, rater.id, task.id))

    def _further(self, rater: Rater) -> Sequence[NewTask] | None:
        if is_pilot(self.file, self.store):
            return ()
        return self.file.preset.further(self._tasks.state(), rater.id)

    def _nothing_to_do(self, rater: Rater) -> PlainScreen:
        """Done, or waiting for what others do."""
        if rater.joined_at:
            return self._finish_rater(rater)
        if phase_of(self.store) == "closed" and not self._tasks.last(rater):
            return PlainScreen(kind="closed")
        further = None if phase_of(self.store) == "closed" else self._further(rater)
        waits = further is not None and not further
        progress, back = self.progress(rater), self._tasks.last(rater)
        return PlainScreen(kind="wait" if waits else "done", progress=progress, back=back)

    def _finish_rater(self, rater: Rater) -> PlainScreen:
        """Give somebody from a platform their code now: nobody comes back there to wait for others."""
        work = self.practice.left_out(self.store.assignments(rater.id))
        if not any(one.state in ("done", "set-aside") for one in work):
            return self._last_screen(rater, "nothing", "screened_out")
        self.store.mark_rater(rater.id, finished_at=self.store.now())
        return self._last_screen(rater, "done", "completed")

    def index(self, rater: Rater) -> Index | None:
        """Return the index that *rater* may search now: one on a screen of the open task that may be seen."""
        assignment = self._open(rater)
        if assignment is None or self._before_work(rater):
            return None
        return self._tasks.index(assignment)

    def progress(self, rater: Rater) -> RaterProgress:
        """Return how far *rater* is."""
        return self._tasks.progress(rater)

    # What clicks do ----------------------------------------------------------------------------------

    def consent(self, rater: Rater) -> None:
        """Record that *rater* agrees, if that is what they are asked; nothing after that or an erasure."""
        consent = self.file.study.consent
        with self.store.writing():
            # Below what is said to those who don't agree the text stands once more.
            if consent is not None and (self._is_at(rater, "consent") or self._is_at(rater, "declined")):
                self.store.mark_rater(
                    rater.id,
                    consent_version=consent.version,
                    consent_text=consent.text,
                    consented_at=self.store.now(),
                    declined_at=None,
                )

    def decline(self, rater: Rater) -> None:
        """Record that *rater* doesn't agree to take part."""
        with self.store.writing():
            if self._is_at(rater, "consent"):
                self.store.mark_rater(rater.id, declined_at=self.store.now())

    def begin(self, rater: Rater) -> None:
        """Record that *rater* has read the instructions."""
        with self.store.writing():
            if self._is_at(rater, "instructions"):
                self.store.mark_rater(rater.id, instructed_at=self.store.now())

    def _is_at(self, rater: Rater, kind: str) -> bool:
        # As the database has them now: a click may come out of a page of long ago.
        known = self.store.rater(rater.id)
        screen = self._before_work(known) if known is not None else None
        return screen is not None and screen.kind == kind

    def answer(
        self, rater: Rater, assignment_id: int, step_id: str, form: Mapping[str, str], click: str
    ) -> dict[str, str]:
        """
        Keep what *form* answers to a screen; returns by field what is wrong with it, and then keeps nothing.

        With the last screen the task is done, and what comes of it is made in the same transaction. What is
        answered once more, be the task done or not, is kept as a correction. A click that comes again does
        nothing.

        Raises:
            InputError: the screen can't be answered any more, and this isn't what was saved; says why.
        """
        with self.store.writing():
            assignment = self._answerable(rater, assignment_id)
            try:
                if assignment is None:
                    raise InputError("it can't be answered now")
                faults, is_done = self._tasks.answer(assignment, step_id, form, click)
            except InputError as error:
                if why := self._tasks.refusal(rater, ScreenId(assignment_id, step_id), form):
                    raise InputError(why) from error
                return {}
            if is_done:
                self._finish(assignment, rater)
            return faults

    def _finish(self, assignment: Assignment, rater: Rater) -> None:
        task = self.store.task(assignment.task)
        if task.attention:
            self._attention.finish(assignment, rater)
            return
        if task.practice is not None:
            self.practice.finish(assignment, rater)
            return
        self.store.end(assignment.id, "done")
        found = self.file.preset.follow_ups(self._tasks.state(), assignment)
        self.store.add_tasks([replace(one, sources=(*one.sources, assignment.id)) for one in found])
