"""An adapter's session around what is asked in it: failing to close it is told, and hides nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from replay import AdapterTimeoutError
from replay.core.adapter import ChatReply, ChatRequest, HistoryKeeper
from replay.core.asking.retries import (
    Deadlines,
    RetryingClient,
    RetryPolicy,
    ask_within,
    open_session,
    usable_reply,
)
from replay.core.conversation import Conversation
from replay.core.errors import AdapterConnectionError, AdapterError, AdapterReplyError
from replay.core.message import Message, ToolCall
from replay.core.safety.redaction import keep_secret
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes

REQUEST = ChatRequest(question="Who?", history=(), depth=1)
REPLY = ChatReply(text="Mira.")


class Asked:
    """A session that does what it is told."""

    def __init__(self, ask):
        self.ask = ask


async def never(request):
    await asyncio.get_running_loop().create_future()


@in_virtual_time
async def test_an_answer_in_time_is_handed_on_and_leaves_no_timer():
    async def ask(request):
        return REPLY

    assert await ask_within(Asked(ask), REQUEST, Deadlines(0.01)) is REPLY
    await takes(0.02)  # a timer left behind would cancel this task


@in_virtual_time
async def test_a_late_answer_is_a_timeout_after_which_the_task_goes_on():
    with pytest.raises(AdapterTimeoutError, match=r"within 0\.01 s"):
        await ask_within(Asked(never), REQUEST, Deadlines(0.01))
    assert asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)


@in_virtual_time
async def test_a_cancelled_ask_is_no_timeout():
    task = asyncio.create_task(ask_within(Asked(never), REQUEST, Deadlines(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@in_virtual_time
async def test_who_is_cancelled_when_the_deadline_passes_is_cancelled():
    """A run that is told to stop must not take that for a slow system and ask again."""

    async def ask(request):
        try:
            await never(request)
        except asyncio.CancelledError:
            task.cancel()
            raise

    task = asyncio.create_task(ask_within(Asked(ask), REQUEST, Deadlines(0.01)))
    with pytest.raises(asyncio.CancelledError):
        await task


@in_virtual_time
async def test_an_answer_that_comes_all_the_same_counts():
    """An adapter that can't be interrupted right now may still have its reply."""

    async def ask(request):
        try:
            await never(request)
        except asyncio.CancelledError:
            return REPLY

    assert await ask_within(Asked(ask), REQUEST, Deadlines(0.01)) is REPLY
    assert asyncio.current_task().cancelling() == 0


@in_virtual_time
async def test_deadlines_may_lie_within_each_other():
    async with asyncio.timeout(60):
        with pytest.raises(AdapterTimeoutError):
            await ask_within(Asked(never), REQUEST, Deadlines(0.01))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ask_within(Asked(never), REQUEST, Deadlines(60))


@in_virtual_time
async def test_every_ask_has_its_full_time_and_little_more():
    deadlines = Deadlines(64)

    async def seconds():
        begun = now()
        with pytest.raises(AdapterTimeoutError):
            await ask_within(Asked(never), REQUEST, deadlines)
        return now() - begun

    assert all(64 <= lasted <= 65 for lasted in await asyncio.gather(*(seconds() for _ in range(20))))


def test_an_event_loop_that_is_gone_takes_its_timers_with_it():
    """An ask in a slot whose timer will never end it would wait for ever."""
    deadlines = Deadlines(0.2)

    async def given_up():
        task = asyncio.create_task(ask_within(Asked(never), REQUEST, deadlines))
        await asyncio.sleep(0)
        task.cancel()

    async def late():
        with pytest.raises(AdapterTimeoutError):
            await ask_within(Asked(never), REQUEST, deadlines)

    asyncio.run(given_up())
    asyncio.run(asyncio.wait_for(late(), 60))


TALK = Conversation(id="c", turns=())
KEY = "sk-session-0815-4711"


class Jammed:
    """Answers, and can't close a session."""

    history: HistoryKeeper = "server"
    name = "jammed"
    limit = None

    @property
    def adapter(self) -> Jammed:
        return self

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[Jammed]:
        try:
            yield self
        finally:
            raise AdapterConnectionError(f"jammed, {KEY}")

    async def ask(self, request: ChatRequest) -> ChatReply:
        return ChatReply(text="Yes.")


async def test_a_session_that_cannot_be_closed_is_told_without_keys(caplog: pytest.LogCaptureFixture) -> None:
    keep_secret(KEY)
    caplog.set_level("INFO", "replay")
    told: list[AdapterError] = []

    async with open_session(Jammed(), TALK, told.append) as session:
        assert (await session.ask(ChatRequest(question="Q?", history=(), depth=1))).text == "Yes."

    assert [str(error) for error in told] == ["jammed, ***"]
    assert [record.getMessage() for record in caplog.records] == ["session not closed"]


async def test_a_session_may_be_left_while_something_else_is_handled() -> None:
    """What its caller handles went wrong elsewhere, and is none of the session's business."""
    seen: list[BaseException | None] = []

    class Watching(Jammed):
        @asynccontextmanager
        async def session(self, conversation: Conversation) -> AsyncIterator[Jammed]:
            try:
                yield self
            except BaseException as error:
                seen.append(error)
                raise

    opened = open_session(Watching(), TALK)
    await opened.__aenter__()
    try:
        raise KeyError("elsewhere")
    except KeyError:
        await opened.__aexit__(None, None, None)

    assert seen == []


async def test_what_went_wrong_in_a_session_gets_out_all_the_same() -> None:
    told: list[AdapterError] = []

    with pytest.raises(KeyboardInterrupt):
        async with open_session(Jammed(), TALK, told.append):
            raise KeyboardInterrupt

    assert len(told) == 1


async def test_an_answer_is_not_lost_with_its_session() -> None:
    request = ChatRequest(question="Q?", history=(), depth=1)

    reply = await RetryingClient(RetryPolicy()).reply(Jammed(), request, about="a question", place=())

    assert reply.text == "Yes."


CALLS = ChatReply(
    text=" ", tool_calls=(ToolCall(id="t1", name="find_order", arguments=f'{{"key": "{KEY}"}}'),), raw=b"raw"
)


def test_calls_of_tools_are_no_answer_to_somebody_who_runs_none() -> None:
    keep_secret(KEY)

    request = ChatRequest(question="Q?", history=(), depth=1)
    with pytest.raises(
        AdapterReplyError, match=r'a call of find_order\(\{"key": "\*\*\*"\}\) in the place'
    ) as caught:
        usable_reply(CALLS, request)
    assert "leave tools out of extra" in str(caught.value)
    assert caught.value.raw == b"raw"

    called = usable_reply(CALLS, replace(request, runs_tools=True))
    assert called.tool_calls[0].arguments == '{"key": "***"}'
    assert usable_reply(replace(CALLS, text="Let me see."), request).text == "Let me see."


def test_a_key_in_a_step_that_the_system_took_itself_is_hidden() -> None:
    keep_secret(KEY)

    told = ChatReply(text="Yes.", steps=(Message(role="tool", text=KEY, tool_call_id="t1"),))
    reply = usable_reply(told, ChatRequest(question="Q?", history=(), depth=1))
    assert [step.text for step in reply.steps] == ["***"]
