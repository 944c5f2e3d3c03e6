"""An adapter's session around what is asked in it: failing to close it is told, and hides nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from replay.core.adapter import ChatReply, ChatRequest, HistoryKeeper
from replay.core.asking.retries import RetryingClient, RetryPolicy, open_session, usable_reply
from replay.core.conversation import Conversation
from replay.core.errors import AdapterConnectionError, AdapterError, AdapterReplyError
from replay.core.message import Message, ToolCall
from replay.core.safety.redaction import keep_secret

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


async def test_calls_of_tools_are_no_answer_to_somebody_who_runs_none() -> None:
    keep_secret(KEY)

    class Calling(Jammed):
        async def ask(self, request: ChatRequest) -> ChatReply:
            return CALLS if request.question == "Q?" else replace(CALLS, text="Let me see.")

    request = ChatRequest(question="Q?", history=(), depth=1)
    with pytest.raises(
        AdapterReplyError, match=r'a call of find_order\(\{"key": "\*\*\*"\}\) in the place'
    ) as caught:
        await usable_reply(Calling(), request)
    assert "leave tools out of extra" in str(caught.value)
    assert caught.value.raw == b"raw"

    called = await usable_reply(Calling(), replace(request, runs_tools=True))
    assert called.tool_calls[0].arguments == '{"key": "***"}'
    assert (await usable_reply(Calling(), replace(request, question="Why?"))).text == "Let me see."


async def test_a_key_in_a_step_that_the_system_took_itself_is_hidden() -> None:
    keep_secret(KEY)

    class Telling(Jammed):
        async def ask(self, request: ChatRequest) -> ChatReply:
            return ChatReply(text="Yes.", steps=(Message(role="tool", text=KEY, tool_call_id="t1"),))

    reply = await usable_reply(Telling(), ChatRequest(question="Q?", history=(), depth=1))
    assert [step.text for step in reply.steps] == ["***"]
