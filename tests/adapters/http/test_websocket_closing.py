"""The ``websocket`` adapter: what opens no connection, what ends one, and what is lost with it."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import WSCloseCode, WSMsgType, web

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
)
from replay.testing import entered
from replay_adapters.http.websocket import WebSocketAdapter
from tests.adapters.asking import reply_of, session_of
from tests.adapters.http.test_websocket_adapter import (
    REQUEST,
    TALK,
    Chat,
    _abort,
    _ask,
    _closing,
    _saying,
    chatting,
)
from tests.adapters.servers import answering, playing, unused_address
from tests.waiting import PATIENCE_S


async def test_what_a_connection_remembered_is_gone_with_it() -> None:
    """A question after that would be answered without its history, and nobody would know."""
    closed = asyncio.Event()

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        await socket.send_json({"text": "Yes."})
        await socket.close(code=1001, message=b"idle")
        closed.set()

    async with (
        chatting(chat) as url,
        session_of(WebSocketAdapter(url=url, send={}, answer="text", history="server"), TALK) as session,
    ):
        await session.ask(REQUEST)
        await closed.wait()
        for _ in range(2):
            with pytest.raises(AdapterConnectionError, match="may be gone with it") as caught:
                await session.ask(REQUEST)
            assert (caught.value.retryable, caught.value.reached) == (False, False)


async def test_pings_are_answered_between_two_questions() -> None:
    ponged = asyncio.Event()

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        await socket.send_json({"text": "Yes."})
        await socket.ping(b"there?")
        message = await socket.receive()
        assert (message.type, message.data) == (WSMsgType.PONG, b"there?")
        ponged.set()

    async with chatting(chat, autoping=False) as url:
        await reply_of(WebSocketAdapter(url=url, send={}, answer="text", history="server"), REQUEST, TALK)
        async with asyncio.timeout(PATIENCE_S):
            await ponged.wait()


async def test_a_system_that_answers_no_ping_is_given_up() -> None:
    async def chat(socket: web.WebSocketResponse) -> None:
        await asyncio.Event().wait()  # reads nothing, so answers nothing

    with pytest.raises(AdapterConnectionError, match="no answer to a ping"):
        await _ask(chat, ping_s=0.02)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (1000, AdapterConnectionError, True),
        (1001, AdapterConnectionError, True),
        (1008, AdapterRefusedError, False),
        (1011, AdapterRefusedError, True),
        (1012, AdapterConnectionError, True),
        (1013, AdapterRefusedError, True),
        (4401, AdapterRefusedError, False),
    ],
)
async def test_a_close_code_says_what_kind_of_failure_it_was(
    code: int, kind: type[AdapterError], retryable: bool
) -> None:
    with pytest.raises(kind, match=rf"closed with code {code} \(bye\) before an answer") as caught:
        await _ask(_saying(then=_closing(code, "bye")))

    assert (caught.value.retryable, caught.value.reached) == (retryable, True)


@pytest.mark.parametrize("end", [_closing(1000), _closing(4000), _abort])
async def test_an_answer_that_was_cut_off_keeps_what_had_come(end: Chat) -> None:
    with pytest.raises(AdapterCutOffError, match="7 characters had come") as caught:
        await _ask(_saying({"text": "One"}, {"text": " two"}, then=end), until="done")

    assert caught.value.partial == "One two"


async def test_a_broken_connection_is_told_from_a_closed_one() -> None:
    with pytest.raises(AdapterConnectionError, match="without saying why") as caught:
        await _ask(_saying(then=_abort), closes_when_done=True)

    assert (caught.value.retryable, caught.value.reached) == (True, True)
    with pytest.raises(AdapterCutOffError):
        await _ask(_saying({"text": "One"}, then=_abort), closes_when_done=True)


async def test_a_close_before_the_question_has_reached_nobody() -> None:
    with pytest.raises(AdapterRefusedError, match="before the question was sent") as caught:
        await _ask(_closing(4401, "no key"), greeting=1)

    assert not caught.value.reached


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "said"),
    [
        (200, AdapterReplyError, False, "the WebSocket endpoint itself"),
        (
            302,
            AdapterRefusedError,
            False,
            "redirects are not followed: set the url to http://elsewhere.test/x",
        ),
        (401, AdapterRefusedError, False, r"set by Bearer \$\{BOT_TOKEN\}"),
        (404, AdapterRefusedError, False, "check the url"),
        (429, AdapterRateLimitedError, True, "ask less often"),
        (503, AdapterRefusedError, True, "its log"),
    ],
)
async def test_a_server_that_opens_no_websocket(
    status: int, kind: type[AdapterError], retryable: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_TOKEN", "sk-very-secret")

    async def handle(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer sk-very-secret"
        headers = {"Retry-After": "3", "Location": "http://elsewhere.test/x?key=sk-very-secret"}
        return web.Response(status=status, headers=headers)

    async with answering(handle) as address:
        url = address.replace("http", "ws", 1) + "/chat?key=sk-very-secret"
        adapter = WebSocketAdapter(
            url=url, send={}, answer="text", headers_env={"Authorization": "Bearer ${BOT_TOKEN}"}
        )
        async with entered(adapter), adapter.session(TALK) as session:
            with pytest.raises(kind, match=said) as caught:
                await session.ask(REQUEST)

    assert (caught.value.retryable, caught.value.reached) == (retryable, False)
    assert caught.value.retry_after_s in (None, 3.0)
    assert "sk-very" not in str(caught.value)


async def _failing(url: str) -> AdapterError:
    adapter = WebSocketAdapter(url=url, send={}, answer="text")
    async with entered(adapter), adapter.session(TALK) as session:
        with pytest.raises(AdapterError) as caught:
            await session.ask(REQUEST)
    assert not caught.value.reached
    return caught.value


async def test_a_server_that_is_not_there_or_speaks_no_http() -> None:
    address = (await unused_address()).replace("http", "ws", 1)
    refused = await _failing(address)
    assert isinstance(refused, AdapterConnectionError)
    assert "check that the server runs there" in str(refused)
    assert refused.retryable

    unknown = await _failing("ws://no-such-host.invalid/")
    assert isinstance(unknown, AdapterConnectionError)

    async with playing(b"SSH-2.0-nothing\r\n\r\n") as address:
        assert isinstance(await _failing(address.replace("http", "ws", 1)), AdapterReplyError)
    async with playing(b"", reset=True) as address:
        assert isinstance(await _failing(address.replace("http", "ws", 1)), AdapterConnectionError)


async def test_a_cancelled_ask_closes_its_connection() -> None:
    ended: asyncio.Queue[int | None] = asyncio.Queue()
    asked = asyncio.Event()

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        asked.set()
        await socket.receive()
        await ended.put(socket.close_code)

    for history in ("client", "server"):
        asked.clear()
        async with (
            chatting(chat) as url,
            session_of(WebSocketAdapter(url=url, send={}, answer="text", history=history), TALK) as session,
        ):
            ask = asyncio.create_task(session.ask(REQUEST))
            await asked.wait()
            ask.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ask
            async with asyncio.timeout(PATIENCE_S):
                assert await ended.get() == WSCloseCode.OK
