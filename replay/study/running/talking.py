"""
A talk in a rater's hands, and what clicks in it do: the database alone. ``live.py`` asks the systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from replay.study.database import seconds_between
from replay.study.running.study_file import StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import Assignment, Rater, TalkPlan, TalkTurn

SLOW_S = 10.0
"""So long people wait before the page says that it takes long."""
SET_ASIDE = "set-aside"
"""In the place of a step: the rater has seen that the assignment was set aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTalk:
    """A talk that goes on."""

    assignment: Assignment
    plan: TalkPlan
    turns: Sequence[TalkTurn]
    """All but the last one are answered."""
    seconds: float | None
    """Since the last question; None before the first, or if the clock was set back."""

    @property
    def waiting(self) -> bool:
        """Return whether an answer is on its way."""
        return bool(self.turns) and self.turns[-1].outcome is None

    @property
    def slow(self) -> bool:
        """Return whether it has been on its way for long."""
        return self.waiting and (self.seconds or 0.0) >= SLOW_S

    @property
    def failed(self) -> TalkTurn | None:
        """The last question, if no answer came to it."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.outcome not in (None, "answered") else None

    @property
    def answered(self) -> int:
        """Questions that have an answer."""
        return len(self.turns) - (self.waiting or self.failed is not None)

    @property
    def may_ask(self) -> bool:
        return not self.waiting and self.failed is None and len(self.turns) < self.plan.most

    @property
    def may_take_back(self) -> bool:
        """Return whether something else can be asked in the place of what failed."""
        return self.failed is not None and not (self.plan.opening_fixed and len(self.turns) == 1)

    @property
    def may_end(self) -> bool:
        return not self.waiting and self.failed is None and len(self.turns) >= self.plan.fewest


class Talking:
    """The talks of a study; its methods may be called from any thread."""

    def __init__(self, file: StudyFile, store: StudyStore) -> None:
        self._file = file
        self._store = store

    def talk(self, assignment: Assignment | None) -> OpenTalk | None:
        """Return the talk that *assignment* is at; None where there is none, or none any more."""
        if assignment is None or assignment.state != "open" or assignment.talk_ended:
            return None
        plan = self._file.preset.talk(self._store.task(assignment.task))
        if plan is None:
            return None
        turns = self._store.talks(assignment.id).get(assignment.id, [])
        seconds = seconds_between(turns[-1].asked_at, self._store.now()) if turns else None
        return OpenTalk(assignment=assignment, plan=plan, turns=turns, seconds=seconds)

    def own(self, rater: Rater, assignment: int) -> OpenTalk | None:
        """Return the talk of *assignment*, if it is in the hands of *rater*."""
        found = self._store.assignment(assignment)
        return self.talk(found) if found is not None and found.rater == rater.id else None

    # What clicks do ----------------------------------------------------------------------------------

    def say(self, rater: Rater, assignment: int, depth: int, question: str, click: str) -> str:
        """
        Keep *question*, to be asked at *depth*; returns why not, in words for people, or nothing.

        A click that comes again does nothing; nor does one in a talk that is over.
        """
        limits = self._file.study.limits
        with self._store.writing():
            talk = self.own(rater, assignment)
            if talk is None or self._store.was_asked(click):
                return ""
            if talk.plan.opening_fixed and talk.plan.opening and not talk.turns:
                question = talk.plan.opening
            question = question.replace("\r\n", "\n").strip()
            if not talk.may_ask or depth != len(talk.turns) + 1:
                return "This was not sent: the conversation has gone on, perhaps in another window."
            if not question:
                return "Write something first."
            if len(question) > limits.message_characters:
                allowed = f"{limits.message_characters:,} are allowed"
                return f"This was not sent: it has {len(question):,} characters, and {allowed}."
            if talk.seconds is not None and talk.seconds < limits.between_messages_s:
                return "This was not sent: it came very soon after the last one. Send it again."
            self._store.ask(click, assignment, depth, question)
        return ""

    def again(self, rater: Rater, assignment: int, attempts: int) -> None:
        """Mark the turn that failed after *attempts* to be asked again; a repeated click does nothing."""
        with self._store.writing():
            talk = self.own(rater, assignment)
            failed = talk and talk.failed
            if failed and failed.attempts == attempts:
                self._store.keep_turn(replace(failed, outcome=None, error=None))

    def take_back(self, rater: Rater, assignment: int, depth: int) -> None:
        """Remove the failed question at *depth* from the talk; the event of its failure stays."""
        with self._store.writing():
            talk = self.own(rater, assignment)
            failed = talk and talk.failed
            if talk and talk.may_take_back and failed and failed.depth == depth:
                self._store.take_back(failed)

    def end(self, rater: Rater, assignment: int) -> None:
        """End the talk, if enough was asked."""
        with self._store.writing():
            talk = self.own(rater, assignment)
            if talk and talk.may_end:
                self._store.end_talk(assignment)

    def set_aside(self, rater: Rater, assignment: int) -> None:
        """Give up a talk in which the system failed, as the rater wants it."""
        with self._store.writing():
            talk = self.own(rater, assignment)
            failed = talk and talk.failed
            if talk and failed:
                why = f'"{talk.plan.system}" gave no answer at turn {failed.depth}'
                why = f"set aside by the rater: {why} ({failed.outcome}: {failed.error})"
                self._store.end(assignment, "set-aside", why)
                self._store.show(assignment, SET_ASIDE)

    # Set aside without being asked -------------------------------------------------------------------

    def unseen(self, rater: Rater) -> Assignment | None:
        """Return the last assignment of *rater*, if it was set aside and they don't know yet."""
        last = next(reversed(self._store.assignments(rater.id)), None)
        if last is None or last.state != "set-aside" or self._store.was_shown(last.id, SET_ASIDE):
            return None
        return last

    def note(self, rater: Rater) -> None:
        """Record that *rater* knows that their last assignment was set aside."""
        unseen = self.unseen(rater)
        if unseen is not None:
            self._store.show(unseen.id, SET_ASIDE)
