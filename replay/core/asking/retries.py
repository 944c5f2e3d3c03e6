"""
How a question is put, whoever puts it: politely, with a deadline, again where that may help, and no more
once the endpoint refuses us or is down.

The one place that sets a deadline and the one place that asks again; the player, the rewriter and the
judges all ask through it.

An adapter's session, around what is asked in it.

Opening what holds something open, such as an adapter with its connections, and leaving the rest alone.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from replay.core.adapter import Adapter, ChatReply, ChatRequest, Session
from replay.core.asking.limits import Breaker, CircuitBreaker, RateLimit
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError, AdapterReplyError, AdapterTimeoutError
from replay.core.logs import log_event
from replay.core.safety.redaction import redact_error, redact_reply


@asynccontextmanager
async def open_session(
    adapter: Adapter, conversation: Conversation, unclosed: Callable[[AdapterError], None] = lambda _: None
) -> AsyncIterator[Session]:
    """
    Open a session of *adapter* for *conversation* until the block ends.

    Args:
        adapter: The system's adapter.
        conversation: The conversation that is replayed.
        unclosed: Called with the error if closing fails. That is logged and is no failure of the block, since
            everything was asked and answered by then.

    Raises:
        AdapterError: it can't be opened.
    """
    opening = adapter.session(conversation)
    session = await opening.__aenter__()

    async def leave(error: BaseException | None) -> None:
        try:
            if error is None:  # not by sys.exc_info(), which also has what our caller is handling
                await opening.__aexit__(None, None, None)
            else:
                await opening.__aexit__(type(error), error, error.__traceback__)
        except AdapterError as failure:
            redact_error(failure)
            log_event(logging.INFO, "session not closed", conversation=conversation.id, error=str(failure))
            unclosed(failure)

    try:
        yield session
    except BaseException as error:
        await leave(error)
        raise
    else:
        await leave(None)


def usable_reply(reply: ChatReply, request: ChatRequest) -> ChatReply:
    """
    Return an adapter's *reply* to *request*, with secrets replaced by asterisks.

    Raises:
        AdapterReplyError: it calls tools in place of a text, and whoever asks runs none.
    """
    reply = redact_reply(reply)
    if not reply.tool_calls or request.runs_tools or reply.text.strip():
        return reply
    calls = ", ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
    error = AdapterReplyError(
        f"answered with a call of {calls} in the place of a text, and no tool is run here: leave tools "
        "out of extra, or set its tool_choice to none where the server adds them; or ask the program that "
        "runs them. Systems of a scenario may call tools whose results its section tools knows"
    )
    error.raw = reply.raw
    raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long and how often one question is put, and when nothing more is asked."""

    timeout_s: float = 60.0
    """Deadline of each attempt."""
    attempts: int = 4
    """Asks at most, the first included."""
    backoff_s: float = 0.5
    """Longest wait before the first retry; doubled for each further one, drawn evenly from [0, wait]
    ("full jitter"), so that conversations that failed together don't return together."""
    retry_budget_s: float = 60.0
    """No retry begins later than this after the first attempt failed, whatever ``Retry-After`` asks."""
    stop_after: int | None = None
    """Failed asks of one endpoint in a row after which everything stops; None where it never does."""
    fail_fast: bool = True
    """Stop at once where an endpoint refuses our key before it answered anything."""
    seed: int = 0
    """Of the waits."""


class Endpoint(Protocol):
    """Whoever is asked."""

    @property
    def name(self) -> str: ...

    @property
    def adapter(self) -> Adapter: ...

    @property
    def limit(self) -> RateLimit | None: ...


class Watcher(Protocol):
    """Told of every attempt."""

    def sent(self, attempt: int) -> None: ...

    def failed(self, attempt: int, error: AdapterError, pause_s: float | None) -> None:
        """Note a failed attempt; the next one follows after *pause_s*, or none if that is None."""
        ...


class RetryingClient:
    """Asks endpoints with one patience; between asks it knows only how they stand."""

    def __init__(
        self,
        patience: RetryPolicy,
        *,
        who: str = "system",
        way_out: str = "",
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """
        *who* and *way_out* are for a breaker's words: what an endpoint is called, what to do instead. Where
        others ask as well, *breaker* is the one of all of them.
        """
        self._patience = patience
        self._deadlines = Deadlines(patience.timeout_s)
        self._clock = clock
        self._sleep = sleep
        self.breaker: CircuitBreaker = breaker or Breaker(
            patience.stop_after, fail_fast=patience.fail_fast, who=who, way_out=way_out
        )

    async def ask(
        self,
        endpoint: Endpoint,
        session: Session,
        request: ChatRequest,
        *,
        place: tuple[object, ...],
        session_remembers: bool = False,
        watcher: Watcher | None = None,
    ) -> tuple[ChatReply | AdapterError, int, float, float]:
        """
        Put *request* until there is a reply or nothing more to be tried.

        Returns what came of it, the number of attempts, and when the last one began and failed, by the
        asker's clock; the second moment of a reply is the first, since adapters time replies at the wire.

        *place* tells this ask from all others, for the waits. A *session_remembers* where the system keeps
        the history: what may stand in it already is not asked again.

        Raises:
            RunStoppedError: *endpoint* refuses our key and has answered nothing yet.
        """
        first_failure: float | None = None
        attempt = 0
        while True:
            attempt += 1
            if endpoint.limit is not None:
                await endpoint.limit.wait()
            sent = self._clock()
            if watcher is not None:
                watcher.sent(attempt)
            try:
                reply = await ask_within(session, request, self._deadlines)
            except AdapterError as error:
                done = self._clock()
                first_failure = done if first_failure is None else first_failure
                pause = None
                if not (session_remembers and error.reached):
                    pause = self._retry_delay(error, attempt, done - first_failure, place)
                if watcher is not None:
                    watcher.failed(attempt, error, pause)
                if pause is None:
                    await self.breaker.failed(endpoint.name, error)
                    return error, attempt, sent, done
            else:
                self.breaker.answered(endpoint.name)
                return reply, attempt, sent, sent
            await self._sleep(pause)

    async def reply(
        self,
        endpoint: Endpoint,
        request: ChatRequest,
        *,
        about: str,
        place: tuple[object, ...],
        watcher: Watcher | None = None,
    ) -> ChatReply:
        """
        Return the reply to a question outside any conversation; *about* is the id of its session.

        Raises:
            AdapterError: none came.
            RunStoppedError: as for ``ask``.
        """
        session = _SessionForEachAsk(endpoint.adapter, about)
        outcome, *_ = await self.ask(endpoint, session, request, place=place, watcher=watcher)
        if isinstance(outcome, AdapterError):
            raise outcome
        return outcome

    def _retry_delay(
        self, error: AdapterError, attempt: int, since_failure_s: float, place: tuple[object, ...]
    ) -> float | None:
        """Return the seconds to wait before asking again, equal in each run; None for a final failure."""
        patience = self._patience
        if not error.retryable or attempt >= patience.attempts:
            return None
        drawn_from = "|".join(map(str, (patience.seed, *place, attempt)))
        pause = random.Random(drawn_from).uniform(0.0, patience.backoff_s * 2 ** (attempt - 1))
        if error.retry_after_s is not None:
            pause = max(pause, error.retry_after_s)
        if since_failure_s + pause <= patience.retry_budget_s:
            return pause
        if pause == error.retry_after_s:
            error.args = (
                f"{error}; it asks to be left alone for {pause:.10g} s, and is not asked again since "
                f"retry_budget_s is {patience.retry_budget_s:g}",
            )
        return None


class _SessionForEachAsk:
    """Opens a session of no conversation for every ask; what fails in that fails the ask."""

    def __init__(self, adapter: Adapter, about: str) -> None:
        self._adapter = adapter
        self._about = about

    async def ask(self, request: ChatRequest) -> ChatReply:
        async with open_session(self._adapter, Conversation(id=self._about, turns=())) as session:
            return await session.ask(request)


class UnopenedSession:
    """In the place of a session that could not be opened: every ask of it fails for that reason."""

    def __init__(self, error: AdapterError) -> None:
        error.retryable = False
        self._error = error

    async def ask(self, request: ChatRequest) -> ChatReply:
        raise self._error


class Deadlines:
    """
    The time limits of asks that may all take equally long.

    They end in slots, a 64th of that time apart, and each slot has one timer: an ``asyncio.timeout`` for each
    ask takes 2.5 us more, 2 % of a turn under load. So an ask has its full time, and at most a 64th more.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s: float = timeout_s
        self.expired: set[asyncio.Task[Any]] = set()
        """Tasks that are cancelled since their ask took too long."""
        self._slot_s = timeout_s / 64
        self._slots: dict[int, set[asyncio.Task[Any]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, task: asyncio.Task[Any]) -> int:
        """Return the slot of an ask that *task* begins now."""
        loop = task.get_loop()
        if loop is not self._loop:  # timers ended with the loop that had them
            self._loop, self._slots = loop, {}
        number = int((loop.time() + self.timeout_s) / self._slot_s) + 1
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = set()
            loop.call_at(number * self._slot_s, self._expire, number)
        slot.add(task)
        return number

    def end(self, task: asyncio.Task[Any], number: int) -> None:
        """Forget the ask of *task* in that slot, which is over one way or another."""
        if task in self.expired:
            self.expired.discard(task)
            task.uncancel()
        elif slot := self._slots.get(number):
            slot.discard(task)

    def _expire(self, number: int) -> None:
        for task in self._slots.pop(number, ()):
            self.expired.add(task)
            task.cancel()


async def ask_within(session: Session, request: ChatRequest, deadlines: Deadlines) -> ChatReply:
    """
    Return the reply to one attempt, with secrets replaced by asterisks.

    Args:
        session: The session to ask in.
        request: The request.
        deadlines: The time limit for each attempt.

    Raises:
        AdapterTimeoutError: that time passed.
        AdapterError: no answer came for another reason.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelling, slot = task.cancelling(), deadlines.begin(task)
    try:
        return usable_reply(await session.ask(request), request)
    except AdapterError as error:
        redact_error(error)
        raise
    except asyncio.CancelledError as error:
        # Unless somebody else cancelled the task as well.
        if task in deadlines.expired and task.cancelling() <= cancelling + 1:
            waited_for = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            raise AdapterTimeoutError(
                f"no complete reply within {deadlines.timeout_s:g} s{waited_for}; "
                "raise timeout_s if it may take longer"
            ) from error
        raise
    finally:
        deadlines.end(task, slot)


@asynccontextmanager
async def open_all(parts: Iterable[object]) -> AsyncIterator[None]:
    """Enter those of *parts* that are async context managers, each object once, until the block ends."""
    async with AsyncExitStack() as stack:
        for part in {id(part): part for part in parts}.values():
            if isinstance(part, AbstractAsyncContextManager):
                await stack.enter_async_context(part)
        yield


def open_endpoints(endpoints: Iterable[Endpoint]) -> AbstractAsyncContextManager[None]:
    """Return a context manager that keeps the adapters of *endpoints* open; endpoints may share them."""
    return open_all(one.adapter for one in endpoints)
