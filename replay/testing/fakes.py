"""
What stands in for a system and a clock in tests.

The scripted system says what it is told to, and remembers what it was asked. The chat server does so behind
a real socket on this machine, for tests that a fake adapter would prove little in: it counts what reaches it,
and fails where it is told to. On the clock time passes when it is told to, or when somebody sleeps on it, and
never by itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from inspect import isawaitable
from threading import Thread
from typing import Any, TypeVar

from aiohttp import web
from msgspec.structs import replace

from replay.core.adapter import Adapter, ChatReply, ChatRequest, HistoryKeeper
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation
from replay.core.errors import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterTimeoutError,
)
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.play.play import Play, System
from replay.play.player import Player, PlayOptions
from replay.play.tool_results import Tools
from replay.play.turn_record import OnFailure
from replay.policies.policy import Policy

LOOP_TURNS = 10
"""So often everything else that is ready goes on before a sleep ends."""


class FakeClock:
    """
    Seconds that nobody waits for.

    Give the clock itself where a program takes a ``clock`` (calling it reads it) and ``clock.sleep`` where
    it takes a ``sleep``. Whoever sleeps moves the clock to the end of the sleep. Tasks that sleep side by
    side wake in the order in which their sleeps end, provided that what they do in between takes no more
    than a few turns of the event loop: a real socket takes longer.
    """

    def __init__(self, now_s: float = 0.0, *, step_s: float = 0.0) -> None:
        """Begin at *now_s*, and move on by *step_s* at each reading, so that no two moments are one."""
        self.now_s: float = now_s
        self.step_s = step_s
        self.slept: list[float] = []
        """How long each sleep was to take, in seconds, in the order in which they began."""
        self._ends: list[float] = []

    def __call__(self) -> float:
        """Return the clock's reading, in seconds."""
        reading = self.now_s
        self.now_s += self.step_s
        return reading

    def advance(self, seconds: float) -> None:
        """
        Move the clock on.

        Raises:
            ValueError: *seconds* is below 0, and time doesn't run backwards.
        """
        if seconds < 0:
            raise ValueError(f"{seconds} is below 0; a clock goes forwards")
        self.now_s += seconds

    async def sleep(self, delay_s: float) -> None:
        """Let others go on, and return at once with the clock *delay_s* later than it was."""
        self.slept.append(delay_s)
        end = self.now_s + max(0.0, delay_s)
        self._ends.append(end)
        try:
            for _ in range(LOOP_TURNS):
                await asyncio.sleep(0)
            while min(self._ends) < end:  # noqa: ASYNC110 - an earlier sleep ends first
                await asyncio.sleep(0)
            self.now_s = max(self.now_s, end)
        finally:
            self._ends.remove(end)


Answer = str | ChatReply | AdapterError | None
"""A text, a whole reply, a failure, or None for an ask that never ends."""

Answering = Callable[[ChatRequest, Conversation], Answer | Awaitable[Answer]]
"""Takes the request, with its history whoever keeps that, and the conversation that it belongs to."""


class ScriptedSystem:
    """
    An adapter for tests, and the system behind it.

    ``ScriptedSystem("Ann.", "In 1990.")`` gives every session these answers, one ask after the other;
    ``ScriptedSystem({"Who sang?": "Ann."})`` answers by question; ``ScriptedSystem(function)`` calls the
    function, which may be ``async``. An answer is a text, a ``ChatReply``, a ``failure(...)`` to be raised,
    or None, which never comes. What a script has no answer for is a ``LookupError``, not a failed turn.
    """

    def __init__(
        self,
        *answers: Answer | Mapping[str, Answer] | Answering,
        history: HistoryKeeper = "client",
        delay_s: float = 0.0,
        clock: FakeClock | None = None,
    ) -> None:
        """
        With *history* ``server`` a session remembers what was asked and answered in it. Every reply comes
        *delay_s* after its question, on *clock*: nobody waits for it.
        """
        self.answers = answers
        self.history = history
        self.delay_s = delay_s
        self.clock: FakeClock = clock or FakeClock()
        self.requests: list[ChatRequest] = []
        """What was asked, in order, as it was sent."""
        self.conversations: list[Conversation] = []
        """What a session was opened for, in order."""

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[_ScriptedSession]:
        self.conversations.append(conversation)
        yield _ScriptedSession(self, conversation)


class _ScriptedSession:
    def __init__(self, system: ScriptedSystem, conversation: Conversation) -> None:
        self._system = system
        self._conversation = conversation
        self._asked = 0
        self._remembered: tuple[Exchange, ...] = ()

    async def ask(self, request: ChatRequest) -> ChatReply:
        system = self._system
        system.requests.append(request)
        if system.history == "server":
            request = replace(request, history=self._remembered)
        answer = self._answer(request)
        if isawaitable(answer):
            answer = await answer
        if system.delay_s:
            await system.clock.sleep(system.delay_s)
        if answer is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(answer, AdapterError):
            raise answer
        reply = answer if isinstance(answer, ChatReply) else ChatReply(text=str(answer))
        self._remembered += (Exchange(question=request.question, answer=reply.text),)
        return reply

    def _answer(self, request: ChatRequest) -> Answer | Awaitable[Answer]:
        answers = self._system.answers
        only = answers[0] if len(answers) == 1 else None
        if isinstance(only, Mapping):
            if request.question not in only:
                raise LookupError(f'the script has no answer to "{request.question}"; add it')
            return only[request.question]
        if callable(only):
            return only(request, self._conversation)
        self._asked += 1
        if self._asked > len(answers):
            raise LookupError(
                f'the script has {len(answers)} answers and was asked "{request.question}" after them; '
                "add one"
            )
        answer: Any = answers[self._asked - 1]
        return answer  # type: ignore[no-any-return]


_FAILURES: Sequence[type[AdapterError]] = (
    AdapterTimeoutError,
    AdapterConnectionError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterCutOffError,
)


def failure(outcome: str, message: str = "as scripted", **facts: Any) -> AdapterError:
    """
    Return the error that becomes *outcome* in a turn's record, for a script to raise.

    Args:
        facts: The error's arguments: ``retryable``, ``reached``, ``retry_after_s``, ``status``; of
            ``cut-off`` also ``partial``, the text that had come.

    Raises:
        ValueError: no failed ask has that outcome.
    """
    if outcome == AdapterCutOffError.outcome:
        facts.setdefault("partial", "")
    for kind in _FAILURES:
        if kind.outcome == outcome:
            return kind(message, **facts)
    known = ", ".join(kind.outcome for kind in _FAILURES)
    raise ValueError(f'"{outcome}" is no outcome of a failed ask (those are: {known})')


class Recorded:
    """A sink in memory; every record is "durable" at once."""

    def __init__(self) -> None:
        self.records: list[TurnRecord] = []

    async def write(self, record: TurnRecord) -> None:
        self.records.append(record)


async def play(
    system: Adapter,
    policy: Policy,
    conversation: Conversation,
    *,
    patience: RetryPolicy | None = None,
    on_failure: OnFailure = "stop",
    records: Sequence[TurnRecord] = (),
    clock: FakeClock | None = None,
    tools: Tools | None = None,
) -> list[TurnRecord]:
    """
    Play *conversation* with *system* under *policy* as a run would, and return the new records.

    Args:
        patience: Deadline and retries; the deadline is in real time.
        records: The turns that were played before, after which it goes on.
        clock: Waits before retries pass on it. The default moves on by a second at each reading.
        tools: The tools that the system may call.

    Raises:
        ResolverError: drift could not be detected.
        RunStoppedError: the system refuses our key, or failed too often in a row.
    """
    sink, clock = Recorded(), clock or FakeClock(step_s=1.0)
    options = PlayOptions(
        patience=patience or RetryPolicy(), on_failure=on_failure, clock=clock, start=0.0, sleep=clock.sleep
    )
    player = Player(sink, options)
    await player.play(
        Play(
            system=System(name="fake", adapter=system, tools=tools),
            policy_name=policy.signature.partition("|")[0],
            policy=policy,
            conversation=conversation,
            records=tuple(records),
        )
    )
    return sink.records


class ChatServer:
    """Answers "Answer to QUESTION", as Chat Completions (``system``) or as plain JSON (``keeper``)."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        """How often each question was asked."""
        self.broken: set[str] = set()
        """Questions that get a status of 400."""
        self.answers: dict[str, str] = {}
        """Other answers, by question."""
        self.delay_s = delay_s
        """How long each answer takes, in real seconds."""
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The server's address, such as ``http://127.0.0.1:8080``, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def system(self) -> dict[str, Any]:
        """Its entry among a scenario's systems."""
        settings = {"base_url": f"{self.url}/v1", "model": "m"}
        return {"name": "server", "adapter": "openai", "settings": settings}

    @property
    def keeper(self) -> dict[str, Any]:
        """The same, as a system that keeps each conversation's history itself."""
        settings = {
            "url": f"{self.url}/said",
            "body": {"question": "{{question}}"},
            "answer": "answer",
            "history": "server",
        }
        return {"name": "server", "adapter": "http", "settings": settings}

    async def quiet(self) -> None:
        """Wait until nobody is connected: what a killed client had sent has then been counted."""
        assert self._runner is not None
        assert self._runner.server is not None
        while self._runner.server.connections:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.002)

    async def _reply(self, question: str) -> str:
        self.asked[question] += 1
        await asyncio.sleep(self.delay_s)
        if question in self.broken:
            raise web.HTTPBadRequest
        return self.answers.get(question, f"Answer to {question}")

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        answer = await self._reply(body["messages"][-1]["content"])
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": answer}}]})

    async def _plain_reply(self, request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response({"answer": await self._reply(body["question"])})


@asynccontextmanager
async def chat_server(delay_s: float = 0.0) -> AsyncIterator[ChatServer]:
    """Yield a server on a free port of this machine, which runs as long as the block lasts."""
    server = ChatServer(delay_s)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server._chat)
    app.router.add_post("/said", server._plain_reply)
    server._runner = runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


T = TypeVar("T")


@contextmanager
def mock_system(delay_s: float = 0.0) -> Iterator[ChatServer]:
    """
    Run a system under test on a real socket of this machine, in a thread, as long as the block lasts.

    Its ``system`` is its entry in a scenario. ``answers`` has its answers by question, ``broken`` the
    questions that fail, and ``asked`` how often each was asked. Every answer takes *delay_s* seconds.
    """
    loop, opened = asyncio.new_event_loop(), AsyncExitStack()
    thread = Thread(target=loop.run_forever, name="mock-system", daemon=True)
    thread.start()

    def wait_for(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        yield wait_for(opened.enter_async_context(chat_server(delay_s)))
    finally:
        wait_for(opened.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
