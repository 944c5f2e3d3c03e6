"""The ``botframework`` adapter, against a Direct Line service by its published description."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import pytest

from replay import AdapterRefusedError, AdapterReplyError, ChatReply, ChatRequest, Conversation, Passage
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http import botframework as adapter_module
from replay_adapters.http.botframework import BotFrameworkAdapter, BotFrameworkSession
from tests.adapters.asking import session_of
from tests.adapters.direct_line_server import Activity, DirectLineService, Talk
from tests.waiting import PATIENCE_S, others_first, takes, until_async

TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One."),))
SECRET = "secret-of-the-channel"
FAST: dict[str, Any] = {"quiet_s": 0.1, "poll_s": 0.01}
both_ways = pytest.mark.parametrize("receive", ["poll", "stream"])


def request(question: str = "Q?") -> ChatRequest:
    return ChatRequest(question=question, history=(), depth=1)


def message(text: str, to: Activity, **more: Any) -> Activity:
    return {"type": "message", "text": text, "replyToId": to["id"], **more}


async def obliging(talk: Talk, asked: Activity) -> None:
    """Does as the contract's questions say, in two messages."""
    if asked["text"] == HANG:
        return
    if asked["text"] == FAIL:
        raise RuntimeError
    talk.asked.append(asked["text"])
    await talk.send({"type": "typing", "replyToId": asked["id"]})
    await talk.send(message(asked["channelData"]["id"], asked, inputHint="ignoringInput"))
    await talk.send(message(f"{len(talk.asked) - 1} before", asked, inputHint="expectingInput"))


CONTRACT: dict[str, Any] = {"channel_data": {"id": "{{conversation.id}}"}, **FAST}


class TestTheContract(AdapterContract):
    @pytest.fixture(params=[{}, {"receive": "stream"}, {"tokens": True}])
    async def adapter(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[BotFrameworkAdapter]:
        monkeypatch.setenv("DIRECT_LINE_SECRET", SECRET)
        keyed = {"secret_env": "DIRECT_LINE_SECRET"} if request.param else {}
        async with DirectLineService(obliging, secret=SECRET if keyed else None).running() as address:
            yield BotFrameworkAdapter(base_url=address, **keyed, **request.param, **CONTRACT)


@asynccontextmanager
async def _asking(service: DirectLineService, **settings: Any) -> AsyncIterator[BotFrameworkSession]:
    async with (
        service.running() as address,
        session_of(BotFrameworkAdapter(base_url=address + "/", **(FAST | settings)), TALK) as session,
    ):
        yield session


async def _ask(service: DirectLineService, **settings: Any) -> ChatReply:
    async with _asking(service, **settings) as session:
        return await session.ask(request())


@both_ways
async def test_an_answer_is_all_the_bot_sends_until_it_is_quiet(receive: str) -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        async def say() -> None:
            for text in ("One.", "Two.", "Three."):
                await takes(0.03)
                await talk.send({"type": "typing"})
                await talk.send(message(text, asked))

        service.later(say())

    service = DirectLineService(bot)
    begun = perf_counter()
    reply = await _ask(service, receive=receive, quiet_s=0.3)
    waited = perf_counter() - begun

    assert reply.text == "One.\n\nTwo.\n\nThree."
    assert reply.times is not None
    assert waited - (reply.times.done - reply.times.sent) >= 0.3


@both_ways
async def test_a_bot_that_expects_input_is_not_waited_for(receive: str) -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        await talk.send(message("One.", asked))
        await talk.send(message("Two?", asked, inputHint="expectingInput"))

    async with asyncio.timeout(PATIENCE_S):
        assert (await _ask(DirectLineService(bot), receive=receive, quiet_s=60)).text == "One.\n\nTwo?"


@both_ways
async def test_the_end_of_the_conversation_ends_an_answer_and_all_questions(receive: str) -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        await talk.send(message("Goodbye.", asked))
        await talk.send({"type": "endOfConversation"})

    async with _asking(DirectLineService(bot), receive=receive, quiet_s=60) as session:
        assert (await session.ask(request())).text == "Goodbye."
        with pytest.raises(AdapterRefusedError, match="the bot ended this conversation") as caught:
            await session.ask(request())
    assert (caught.value.retryable, caught.value.reached) == (False, False)


@both_ways
async def test_a_greeting_is_no_answer(receive: str) -> None:
    service = DirectLineService(obliging, welcome="Welcome!")
    settings = {"receive": receive, "greeting": 1, "channel_data": {"id": "x"}}
    assert (await _ask(service, **settings)).text == "x\n\n0 before"


@both_ways
async def test_a_greeting_that_does_not_come_says_so(receive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the deadline alone, nobody would know what was waited for."""
    monkeypatch.setattr(adapter_module, "GREETED_WITHIN_S", 0.05)
    settings = {"receive": receive, "greeting": 1}

    with pytest.raises(AdapterRefusedError, match="sent 0 messages by itself") as caught:
        await _ask(DirectLineService(obliging), **settings)
    assert "greeting: 1 waits for more; set it to what comes" in str(caught.value)
    assert not caught.value.reached


@both_ways
async def test_direct_line_may_be_at_another_path(receive: str) -> None:
    service = DirectLineService(obliging, at="/directline")
    settings = {"receive": receive, "path": "/directline", "channel_data": {"id": "x"}}

    assert (await _ask(service, **settings)).text == "x\n\n0 before"


@both_ways
async def test_what_comes_late_is_not_taken_for_the_next_answer(receive: str) -> None:
    asked_before: list[Activity] = []

    async def bot(talk: Talk, asked: Activity) -> None:
        for before in asked_before:
            await talk.send(message("Late.", before))
        asked_before.append(asked)
        if asked["text"] != "hang":
            await talk.send(message("Yes.", asked, inputHint="expectingInput"))

    async with _asking(DirectLineService(bot), receive=receive) as session:
        assert (await session.ask(request())).text == "Yes."
        hanging = asyncio.create_task(session.ask(request("hang")))
        await until_async(lambda: len(asked_before) >= 2)
        await others_first()  # the reply to the request says the question's id
        hanging.cancel()
        assert (await session.ask(request())).text == "Yes."


@both_ways
@pytest.mark.parametrize("waits", [True, False])
async def test_what_comes_after_an_answer_seemed_complete_is_in_no_answer(
    receive: str, waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the number of the question that it answers, as some channels send it."""
    talks: list[Talk] = []

    async def bot(talk: Talk, asked: Activity) -> None:
        talks.append(talk)
        await talk.send(message(f"To {asked['text']}.", asked, inputHint="expectingInput"))

    async with _asking(DirectLineService(bot), receive=receive) as session:
        assert (await session.ask(request("one"))).text == "To one."
        late = {"type": "message", "text": "Late.", "inputHint": "expectingInput"}
        await talks[0].send(late)
        if waits:
            await others_first()
        assert (await session.ask(request("two"))).text == "To two."
        assert caplog.text.count("came after an answer seemed complete were left out") == 1
        assert (await session.ask(request("three"))).text == "To three."
        assert len(caplog.records) == 1


async def test_each_question_has_a_connection_of_its_own() -> None:
    """So that none is on its way over one that the service closes; the bot must not get it twice."""
    service = DirectLineService(obliging)
    async with _asking(service, channel_data={"id": "x"}) as session:
        for _ in range(3):
            await session.ask(request())

    assert len(set(service.asked_over)) == 3


@both_ways
async def test_a_greeting_that_nobody_counted_on_is_no_part_of_an_answer(
    receive: str, caplog: pytest.LogCaptureFixture
) -> None:
    service = DirectLineService(obliging, welcome="Welcome!")
    settings = {"receive": receive, "channel_data": {"id": "x"}}
    assert (await _ask(service, **settings)).text == "x\n\n0 before"
    assert not caplog.records


async def test_buttons_passages_and_what_goes_along_with_a_question() -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        assert asked["locale"] == "en-US"
        assert asked["channelData"] == {"docs": [{"id": "1", "title": "", "text": "One."}]}
        actions = {"actions": [{"type": "imBack", "title": "Red"}, {"title": "Blue"}]}
        sources = {"sources": ["One."]}
        await talk.send(message("Which?", asked, suggestedActions=actions, channelData=sources))

    settings = {"locale": "en-US", "channel_data": {"docs": "{{passages}}"}, "buttons": True}
    reply = await _ask(DirectLineService(bot), passages="[].channelData.sources[]", **settings)

    assert reply.text == "Which?\nRed\nBlue"
    assert reply.passages == (Passage(id="1", text="One."),)


@both_ways
async def test_cards_alone_are_a_bad_reply(receive: str) -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        card = {"contentType": "application/vnd.microsoft.card.adaptive", "content": {}}
        await talk.send({"type": "message", "replyToId": asked["id"], "attachments": [card]})

    with pytest.raises(AdapterReplyError, match=r"without a text \(message, application/vnd.micro.*card"):
        await _ask(DirectLineService(bot), receive=receive)


@both_ways
async def test_a_bot_that_fails_is_a_refusal(receive: str) -> None:
    with pytest.raises(AdapterRefusedError, match="BotRejectedActivity") as caught:
        async with _asking(DirectLineService(obliging), receive=receive, channel_data={"id": "x"}) as session:
            await session.ask(request(FAIL))
    assert (caught.value.status, caught.value.retryable, caught.value.reached) == (502, True, True)


@pytest.mark.parametrize("tokens", [False, True])
async def test_a_wrong_secret_is_told_without_being_shown(
    tokens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIRECT_LINE_SECRET", "wrong-secret")
    service = DirectLineService(obliging, secret=SECRET)
    with pytest.raises(AdapterRefusedError, match=r"Direct Line secret .set by DIRECT_LINE_SECRET") as caught:
        await _ask(service, secret_env="DIRECT_LINE_SECRET", tokens=tokens)
    assert (caught.value.status, caught.value.reached) == (403, False)
    assert "wrong-secret" not in str(caught.value)
