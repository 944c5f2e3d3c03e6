"""The ``botframework`` adapter: streams that close, tokens, and services that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from replay import AdapterConnectionError, AdapterCutOffError, AdapterError, AdapterReplyError
from replay.testing import FakeClock, entered
from replay_adapters.http.botframework import BotFrameworkAdapter
from replay_adapters.http.client import HttpClient
from replay_adapters.http.direct_line import DirectLine
from tests.adapters.asking import reply_of
from tests.adapters.direct_line_server import Activity, DirectLineService, Talk
from tests.adapters.http.test_botframework_adapter import (
    FAST,
    SECRET,
    TALK,
    _ask,
    both_ways,
    message,
    obliging,
    request,
)
from tests.adapters.servers import answering
from tests.waiting import takes, until_async


async def test_a_stream_that_is_closed_is_opened_again_where_it_stood() -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        async def say() -> None:
            await talk.send(message("One.", asked))
            assert talk.listener is not None
            await talk.listener.close(code=1001)
            await talk.send(message("Two.", asked))  # nobody listens
            await until_async(lambda: talk.streams >= 2)
            await talk.send(message("Three.", asked, inputHint="expectingInput"))

        service.later(say())

    service = DirectLineService(bot)
    reply = await _ask(service, receive="stream", quiet_s=5.0)

    assert reply.text == "One.\n\nTwo.\n\nThree."


async def test_a_stream_that_is_closed_again_and_again_cuts_an_answer_off() -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        async def close_all() -> None:
            await talk.send(message("One.", asked))
            while True:
                if talk.listener is not None and not talk.listener.closed:
                    await talk.listener.close(code=1001, message=b"collision")
                await takes(0.005)

        service.later(close_all())

    service = DirectLineService(bot)
    with pytest.raises(AdapterCutOffError, match="4 characters had come") as caught:
        await _ask(service, receive="stream", quiet_s=60)
    assert caught.value.partial == "One."


async def test_a_conversation_without_a_stream_says_so() -> None:
    with pytest.raises(AdapterReplyError, match="set receive: poll") as caught:
        await _ask(DirectLineService(obliging, has_streams=False), receive="stream")
    assert not caught.value.reached


@pytest.mark.parametrize(
    ("age_s", "request_made"),
    [(800, None), (1000, "POST /tokens/refresh"), (2000, "GET /conversations/talk0")],
)
async def test_a_token_is_refreshed_in_time_or_got_anew_with_the_secret(
    age_s: float, request_made: str | None
) -> None:
    def client(key: str) -> HttpClient:
        return HttpClient(headers={"Authorization": f"Bearer {key}"})

    service = DirectLineService(obliging, secret=SECRET, expires_in=1800)
    clock, with_secret = FakeClock(1000.0), client(SECRET)
    async with service.running() as address, with_secret:
        line = DirectLine(
            base=address + service.at,
            user="dl_me",
            with_secret=with_secret,
            own_client=client,
            stream=None,
            poll_s=0.01,
            clock=clock,
        )
        try:
            await line.start()
            clock.advance(age_s)
            del service.requests[:]
            await line.post({"type": "message", "text": "Q?", "channelData": {"id": "x"}})
            await line.more()
        finally:
            await line.close()

    made = [each for each in service.requests if not each.endswith("/activities")]
    assert made == ([request_made] if request_made else [])
    assert service.users == {"talk0": "dl_me"}


@pytest.mark.parametrize("replied", [[], "x", {}, {"conversationId": 5}])
async def test_what_is_not_direct_line_is_a_bad_reply(replied: Any) -> None:
    async def handle(_: web.Request) -> web.Response:
        return web.json_response(replied)

    async with answering(handle) as address:
        with pytest.raises(AdapterReplyError, match="base_url is that of a Direct Line"):
            await reply_of(BotFrameworkAdapter(base_url=address), request(), TALK)


async def test_a_service_that_goes_away_in_the_middle() -> None:
    async def bot(talk: Talk, asked: Activity) -> None:
        await talk.send(message("One.", asked))

    service = DirectLineService(bot)
    broken = asyncio.Event()
    whole_get = service._get

    async def get(asked: web.Request) -> web.Response:
        if "watermark" in asked.query:
            broken.set()
            assert asked.transport is not None
            asked.transport.abort()
        return await whole_get(asked)

    service._get = get  # type: ignore[method-assign]
    with pytest.raises(AdapterCutOffError, match="connection broke") as caught:
        await _ask(service)
    assert broken.is_set()
    assert caught.value.partial == "One."
    assert not isinstance(caught.value, AdapterConnectionError)


@both_ways
async def test_a_cancelled_session_leaves_no_stream_open(receive: str) -> None:
    asked = asyncio.Event()

    async def bot(talk: Talk, activity: Activity) -> None:
        asked.set()

    service = DirectLineService(bot)
    async with (
        service.running() as address,
        entered(BotFrameworkAdapter(base_url=address, receive=receive, **FAST)) as adapter,  # type: ignore[arg-type]
    ):

        async def play() -> None:
            async with adapter.session(TALK) as session:
                await session.ask(request())

        playing = asyncio.create_task(play())
        await asked.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        talks = service.talks.values()
        await until_async(lambda: not any(talk.listener and not talk.listener.closed for talk in talks))


async def test_nothing_there_is_told_as_with_any_http_system() -> None:
    with pytest.raises(AdapterError, match="check that the server runs there") as caught:
        await reply_of(BotFrameworkAdapter(base_url="http://127.0.0.1:9"), request(), TALK)
    assert (caught.value.outcome, caught.value.reached) == ("connection-failed", False)
