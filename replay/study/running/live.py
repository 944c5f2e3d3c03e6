"""
Talks in raters' hands: what clicks in them do, in the database alone, and systems that are asked meanwhile.

A question is in the database before its system is asked, and so is its answer before anybody sees it. What
was under way when the server ended is asked again when it starts: nobody has seen an answer. Only where the
system keeps the history itself that can't be done, since the session that knew it is gone; such a talk is set
aside, with the reason, and its task comes up again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import cast

import msgspec

from replay.core.adapter import Adapter, ChatReply, ChatRequest, Session
from replay.core.asking.retries import RetryingClient, open_endpoints, open_session
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError, AdapterReplyError, InputError, ScenarioError
from replay.core.history import Exchange
from replay.core.lifetimes import in_thread
from replay.core.record import Outcome
from replay.core.safety.redaction import redact_error
from replay.core.settings.plugin_bugs import describe_error
from replay.play.play import System
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import add_lines
from replay.study.database import seconds_between
from replay.study.running.study_file import StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import Assignment, OpenTalk, Rater, TalkPlan, TalkTurn

_log = logging.getLogger(__name__)
SET_ASIDE = "set-aside"
"""In the place of a step: the rater has seen that the assignment was set aside."""


def built_systems(file: StudyFile) -> list[System]:
    """
    Return the systems that people talk with.

    Raises:
        ScenarioError: one can't be made; all faults at once.
        InputError: one is code, which may not run here.
    """
    builder = PartBuilder(file.folder)
    systems = builder.systems(file.study.systems)
    if builder.unread:
        raise InputError(
            f'the study\'s systems name code ("{builder.unread[0].target}"), which runs only where its study '
            f'file is named: `replay study serve "{file.source}"`'
        )
    if builder.faults:
        raise ScenarioError(file.source, add_lines(builder.faults, file.lines))
    return [system for system in systems if system is not None]


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
            failed = talk and talk.failed_turn
            if failed and failed.attempts == attempts:
                self._store.keep_turn(replace(failed, outcome=None, error=None))

    def take_back(self, rater: Rater, assignment: int, depth: int) -> None:
        """Remove the failed question at *depth* from the talk; the event of its failure stays."""
        with self._store.writing():
            talk = self.own(rater, assignment)
            failed = talk and talk.failed_turn
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
            failed = talk and talk.failed_turn
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


class LiveTalks:
    """The talks of a study that is served."""

    def __init__(
        self,
        file: StudyFile,
        store: StudyStore,
        systems: Sequence[System],
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        ask = file.study.ask
        self.talking: Talking = Talking(file, store)
        self._store = store
        self._systems = {system.name: system for system in systems}
        self._asker = RetryingClient(file.study.patience, clock=clock)
        self._clock = clock
        self._slots = asyncio.Semaphore(ask.concurrency)
        self._idle_s = ask.session_idle_s
        self._due: dict[int, asyncio.Event] = {}
        """Of each talk that is held, by assignment: something is to be done in it."""
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Ask systems as long as the block lasts; go on with the requests that were interrupted before."""
        async with open_endpoints(self._systems.values()):
            try:
                for assignment in await asyncio.to_thread(self._interrupted_talks):
                    self.go_on(assignment)
                yield
            finally:
                ending = list(self._tasks)
                for task in ending:
                    task.cancel()
                await asyncio.gather(*ending, return_exceptions=True)

    def _interrupted_talks(self) -> list[int]:
        """
        Return the talks that an earlier server left with a question under way, or with a session of its own.
        """
        found = []
        for assignment in self._store.assignments():
            talk = self.talking.talk(assignment)
            if talk is not None and (talk.waiting or self._remembers(talk)):
                found.append(assignment.id)
        return found

    def _remembers(self, talk: OpenTalk) -> bool:
        """Return whether the system keeps the history of *talk*, so that only its own session can go on."""
        return talk.answered_questions > 0 and self._systems[talk.plan.system].adapter.history == "server"

    def go_on(self, assignment: int) -> None:
        """Do in the background what is to be done in the talk of *assignment*."""
        due = self._due.get(assignment)
        if due is None:
            due = self._due[assignment] = asyncio.Event()
            task = asyncio.create_task(self._hold(assignment, due))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        due.set()

    async def _hold(self, assignment: int, due: asyncio.Event) -> None:
        """
        Ask what is to be asked in a talk, until it is over or nobody goes on with it.

        In one task from first to last, since an adapter's session may only be left where it was entered.
        """
        try:
            async with AsyncExitStack() as stack:
                await self._go_through(assignment, due, stack)
                # Before the session is left, which may take a while. What came too late for it has another.
                self._forget(assignment, due)
                if due.is_set():
                    self.go_on(assignment)
        except Exception:  # noqa: BLE001 - other people's talks go on
            _log.exception("the talk of assignment %d can't be gone on with", assignment)
        finally:
            self._forget(assignment, due)

    async def _go_through(self, assignment: int, due: asyncio.Event, stack: AsyncExitStack) -> None:
        session: _LateSession | None = None
        while True:
            is_due = await self._is_due(due)
            talk = await in_thread(self._talk, assignment)
            if talk is None:
                return
            if not is_due:
                if self._remembers(talk):
                    await in_thread(self._lose, talk, f"nobody went on for {self._idle_s:g} s")
                return
            if session is None:
                about = await in_thread(self._about, talk.plan)
                session = _LateSession(self._systems[talk.plan.system].adapter, about, stack)
            if self._remembers(talk) and not session.is_open:
                await in_thread(self._lose, talk, "its session ended with the server")
                return
            if talk.waiting and not await self._ask(talk, session):
                return

    def _talk(self, assignment: int) -> OpenTalk | None:
        return self.talking.talk(self._store.assignment(assignment))

    def _about(self, plan: TalkPlan) -> Conversation:
        if plan.index is None:
            return plan.about
        return msgspec.structs.replace(
            plan.about, passages=self._store.index.passages(plan.index.conversation)
        )

    def _forget(self, assignment: int, due: asyncio.Event) -> None:
        if self._due.get(assignment) is due:
            del self._due[assignment]

    async def _is_due(self, due: asyncio.Event) -> bool:
        """Wait until there is something to do; False where that takes too long."""
        try:
            async with asyncio.timeout(self._idle_s):
                await due.wait()
        except TimeoutError:
            return False
        due.clear()
        return True

    async def _ask(self, talk: OpenTalk, session: _LateSession) -> bool:
        """Ask the last question of *talk* and keep what comes; False where *session* can't go on after it."""
        system, asked = self._systems[talk.plan.system], talk.turns[-1]
        own = system.adapter.history == "server"
        history = () if own else tuple(map(_exchange, talk.turns[:-1]))
        request = ChatRequest(question=asked.question, history=history, depth=asked.depth)
        outcome: ChatReply | AdapterError
        attempts, sent, done = 1, self._clock(), None
        async with self._slots:
            try:
                outcome, attempts, sent, done = await self._asker.ask(
                    system,
                    session,
                    request,
                    place=(asked.assignment, asked.depth, asked.attempts),
                    session_remembers=own,
                )
                if not isinstance(outcome, AdapterError) and not isinstance(outcome.text, str):
                    outcome = AdapterReplyError(f"the text of the adapter's reply is {outcome.text!r:.60}")
            except Exception as error:  # noqa: BLE001 - a plug-in's bug is this question's failure
                _log.exception('system "%s" fails at turn %d', system.name, asked.depth)
                outcome = AdapterReplyError(describe_error(error))
                redact_error(outcome)
        turn = replace(asked, attempts=asked.attempts + attempts)
        if isinstance(outcome, AdapterError):
            spoiled = own and outcome.reached
            failed = cast(Outcome, outcome.outcome)
            turn = replace(turn, outcome=failed, error=str(outcome), latency_s=(done or self._clock()) - sent)
            await in_thread(self._keep, talk, turn, lost=spoiled and talk.answered_questions > 0)
            return not spoiled
        times = outcome.times
        turn = replace(
            turn,
            outcome="answered",
            answer=outcome.text,
            passages=outcome.passages,
            latency_s=self._clock() - sent if times is None else times.done - times.sent,
        )
        await in_thread(self._keep, talk, turn)
        return True

    def _keep(self, talk: OpenTalk, turn: TalkTurn, *, lost: bool = False) -> None:
        """Keep *turn*; what that means for its talk is in the same transaction."""
        with self._store.writing():
            if self._store.assignment(turn.assignment) is None:
                return  # erased while its system was asked
            self._store.keep_turn(turn)
            if turn.outcome == "answered":
                return
            self._store.add_event(
                "ask-failed",
                {
                    "assignment": turn.assignment,
                    "system": talk.plan.system,
                    "depth": turn.depth,
                    "outcome": turn.outcome,
                    "error": turn.error,
                },
            )
            if lost:
                self._lose(talk, f"no answer at turn {turn.depth} ({turn.outcome}: {turn.error})")

    def _lose(self, talk: OpenTalk, why: str) -> None:
        """Set aside a talk that only its own session could have gone on with."""
        kept = f'"{talk.plan.system}" keeps the history of its conversations itself'
        self._store.end(talk.assignment.id, "set-aside", f"{why}; {kept}")


@dataclass(slots=True, eq=False)
class _LateSession:
    """A session that is opened with its first question, whose deadline and retries it so has."""

    adapter: Adapter
    about: Conversation
    stack: AsyncExitStack
    _session: Session | None = field(default=None, init=False)

    @property
    def is_open(self) -> bool:
        return self._session is not None

    async def ask(self, request: ChatRequest) -> ChatReply:
        if self._session is None:
            try:
                opening = open_session(self.adapter, self.about)
                self._session = await self.stack.enter_async_context(opening)
            except AdapterError as error:
                error.reached = False  # no question has been sent
                raise
        return await self._session.ask(request)


def _exchange(turn: TalkTurn) -> Exchange:
    return Exchange(question=turn.question, answer=turn.answer or "")
