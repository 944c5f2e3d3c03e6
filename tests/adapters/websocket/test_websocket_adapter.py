"""The ``websocket`` adapter: frames out and in, when an answer is complete, and what ends a connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import WSCloseCode, WSMsgType, web

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    Passage,
)
from replay.testing import FAIL, HANG, AdapterContract, entered
from replay_adapters.http.redaction import Secrets
from replay_adapters.websocket.adapter import WebSocketAdapter
from replay_adapters.websocket.client import WebSocketFrame
from replay_adapters.websocket.frame_format import AnswerBuilder
from tests.adapters.servers import answering, playing, unused_address
from tests.data_tables import from_table
from tests.waiting import PATIENCE_S, others_first

TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One.", title="T"),))
REQUEST = ChatRequest(question="Q?", history=(Exchange(question="A?", answer="A."),), depth=2)

Chat = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def chatting(chat: Chat, **options: Any) -> AsyncIterator[str]:
    """A WebSocket server that lets *chat* speak over each connection."""

    async def handle(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(timeout=0.1, **options)
        await socket.prepare(request)
        await chat(socket)
        return socket

    async with answering(handle) as address:
        yield address.replace("http", "ws", 1) + "/chat"


class Backend:
    """A chat service that streams words, and remembers what was said over a connection."""

    async def chat(self, socket: web.WebSocketResponse) -> None:
        asked: list[str] = []
        async for message in socket:
            body = message.json()
            if body["q"] == HANG:
                continue
            if body["q"] == FAIL:
                await socket.send_json({"type": "error", "reason": "no"})
                continue
            before = len(asked) if "log" not in body else len(body["log"])
            asked.append(body["q"])
            await socket.send_json({"type": "typing"})
            for piece in (body["id"], ": ", str(before), " before"):
                await socket.send_json({"type": "piece", "text": piece, "sid": "s"})
            await socket.send_json({"type": "done", "docs": ["One."]})


SETTINGS: dict[str, Any] = {"answer": "text", "until": "type == 'done'", "error": "reason"}
CLIENT: dict[str, Any] = {
    "send": {"q": "{{question}}", "id": "{{conversation.id}}", "log": "{{history}}"},
    **SETTINGS,
}
SERVER: dict[str, Any] = {
    "send": {"q": "{{question}}", "id": "{{conversation.id}}"},
    "history": "server",
    **SETTINGS,
}


class TestWithTheHistorySentAlong(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[WebSocketAdapter]:
        async with chatting(Backend().chat) as url:
            yield WebSocketAdapter(url=url, **CLIENT)


class TestWithOneConnectionForEachConversation(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[WebSocketAdapter]:
        async with chatting(Backend().chat) as url:
            yield WebSocketAdapter(url=url, **SERVER)


class TestAgainstTheWebsocketsPackage(AdapterContract):
    """Another implementation of the protocol at the other end."""

    @pytest.fixture
    async def adapter(self) -> AsyncIterator[WebSocketAdapter]:
        server = pytest.importorskip("websockets.asyncio.server")

        async def chat(connection: Any) -> None:
            asked = 0
            async for frame in connection:
                body = json.loads(frame)
                if body["q"] == HANG:
                    continue
                if body["q"] == FAIL:
                    await connection.send(json.dumps({"reason": "no"}))
                    continue
                await connection.send(json.dumps({"text": f"{body['id']}: {asked} "}).encode())  # binary
                await connection.send(json.dumps({"text": "before", "type": "done"}))
                asked += 1

        async with server.serve(chat, "127.0.0.1", 0, ping_interval=0.05, ping_timeout=1) as serving:
            host, port = serving.sockets[0].getsockname()
            yield WebSocketAdapter(url=f"ws://{host}:{port}/", **SERVER)


async def _ask(chat: Chat, *, asks: int = 1, **settings: Any) -> list[ChatReply]:
    settings = {"answer": "text", "send": {"q": "{{question}}"}} | settings
    async with (
        chatting(chat) as url,
        entered(WebSocketAdapter(url=url, **settings)) as adapter,
        adapter.session(TALK) as session,
    ):
        return [await session.ask(REQUEST) for _ in range(asks)]


def _saying(*frames: Any, then: Chat | None = None) -> Chat:
    """Answers each frame that comes with *frames*, JSON values or raw texts and bytes."""

    async def chat(socket: web.WebSocketResponse) -> None:
        async for _ in socket:
            for frame in frames:
                match frame:
                    case bytes():
                        await socket.send_bytes(frame)
                    case str():
                        await socket.send_str(frame)
                    case _:
                        await socket.send_json(frame)
            if then is not None:
                await then(socket)

    return chat


def _closing(code: int, reason: str = "") -> Chat:
    async def close(socket: web.WebSocketResponse) -> None:
        await socket.close(code=code, message=reason.encode())

    return close


async def _abort(socket: web.WebSocketResponse) -> None:
    writer = socket._writer
    assert writer is not None
    writer.transport.abort()


@from_table
async def test_an_answer_is_complete_when_the_scenario_says_so(settings: dict[str, Any], text: str) -> None:
    frames = [{"typing": True}, {"text": "One", "n": 1}, {"text": " two", "n": 2}]
    frames += [{"text": " three", "n": 3, "end": 0}, {"n": None, "end": True}]
    (reply,) = await _ask(_saying(*frames), **({"history": "client"} | settings))

    assert reply.text == text


@pytest.mark.parametrize("when", ["with the answer", "unread", "read"])
async def test_a_second_answer_is_not_that_to_the_next_question(when: str) -> None:
    was_read, sent = asyncio.Event(), asyncio.Event()

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        await socket.send_str("one")
        if when != "with the answer":
            await was_read.wait()
        await socket.send_str("another")
        sent.set()
        await socket.receive()

    async with (
        chatting(chat) as url,
        entered(WebSocketAdapter(url=url, send="{{question}}", format="text", history="server")) as adapter,
        adapter.session(TALK) as session,
    ):
        assert (await session.ask(REQUEST)).text == "one"
        was_read.set()
        await sent.wait()
        if when == "read":
            await others_first()
        with pytest.raises(AdapterReplyError, match=r'after its last answer .* "another"') as caught:
            await session.ask(REQUEST)

    assert not caught.value.reached


async def test_an_answer_that_is_left_over_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """One that came under a question was taken for the answer to it, and so on to the last."""

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        await socket.send_str("one")
        await socket.send_str("another")
        await socket.receive()

    async with (
        chatting(chat) as url,
        entered(WebSocketAdapter(url=url, send="{{question}}", format="text", history="server")) as adapter,
    ):
        async with adapter.session(TALK) as session:
            await session.ask(REQUEST)
        assert '"another"' in caplog.text
        assert "its answers may be those of the turns before" in caplog.text


async def test_waiting_for_more_that_does_not_come_is_no_part_of_the_latency() -> None:
    begun = perf_counter()
    (reply,) = await _ask(_saying({"text": "One"}, {"text": " two"}), quiet_s=0.2)
    waited = perf_counter() - begun

    assert reply.times is not None
    assert waited - (reply.times.done - reply.times.sent) >= 0.2
    assert reply.times.first_token is not None
    assert len(reply.times.token_gaps_100us) == 1


async def test_text_frames_are_pieces_as_a_whole() -> None:
    sent = []

    async def chat(socket: web.WebSocketResponse) -> None:
        async for message in socket:
            sent.append(message.data)
            for text in ("Yes", ", sir.", "[END]"):
                await socket.send_str(text)

    settings = {
        "answer": "@ != '[END]' && @",
        "until": "@ == '[END]'",
        "send": "{{conversation.id}}: {{question}}",
    }
    (reply,) = await _ask(chat, format="text", **settings)

    assert (sent, reply.text) == (["c: Q?"], "Yes, sir.")


async def test_what_is_sent_on_opening_goes_before_the_question_and_a_greeting_is_waited_for() -> None:
    got: list[Any] = []

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.send_json({"text": "Welcome!"})
        async for message in socket:
            got.append(message.json())
            await socket.send_json({"text": "Ready.", "ready": True} if len(got) == 1 else {"text": "Yes."})

    for greeting in (2, "ready"):
        got.clear()
        on_open = [{"hello": "{{conversation.id}}", "docs": "{{passages}}"}]
        (reply,) = await _ask(chat, on_open=on_open, greeting=greeting)
        assert reply.text == "Yes."
        assert got == [{"hello": "c", "docs": [{"id": "1", "title": "T", "text": "One."}]}, {"q": "Q?"}]


async def test_passages_come_from_whichever_frame_has_them() -> None:
    (reply,) = await _ask(_saying({"docs": ["One."]}, {"text": "Yes."}), passages="docs")

    assert reply.passages == (Passage(id="1", text="One."),)


async def test_a_session_goes_on_over_a_new_connection_where_its_id_is_sent() -> None:
    got: list[Any] = []

    async def chat(socket: web.WebSocketResponse) -> None:
        got.append((await socket.receive()).json())
        await socket.send_json({"text": "Yes.", "sid": 7})
        await socket.close()

    settings: dict[str, Any] = {"send": {"s": "{{session_id}}"}, "session_id": "sid"}
    await _ask(chat, asks=2, closes_when_done=True, quiet_s=60, **settings)
    await _ask(chat, asks=2, **settings)

    assert got == [{"s": None}, {"s": "7"}] * 2


async def test_no_session_id_is_a_bad_reply() -> None:
    with pytest.raises(AdapterReplyError, match="gives no session id"):
        await _ask(_saying({"text": "Yes."}), session_id="sid")


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
        entered(WebSocketAdapter(url=url, send={}, answer="text", history="server")) as adapter,
        adapter.session(TALK) as session,
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

    async with (
        chatting(chat, autoping=False) as url,
        entered(WebSocketAdapter(url=url, send={}, answer="text", history="server")) as adapter,
        adapter.session(TALK) as session,
    ):
        await session.ask(REQUEST)
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
    ("frame", "settings", "said"),
    [
        ("hello", {}, 'can\'t be read as JSON.*set "format: text"'),
        ("[" * 100_000, {}, "nested too deeply"),
        (b"\xff\xfe\x00", {}, "bytes that are no text"),
        ({"text": ["x"]}, {}, 'answer "text" gives no text.*check the path'),
        ({"text": True}, {}, "gives no text"),
        ({"end": 1}, {"until": "end"}, "gave no text in any frame"),
        ({"text": "  "}, {}, "gave no text in any frame"),
        ({"text": "x", "docs": 5}, {"passages": "docs"}, 'passages "docs" gives'),
        ({"text": 5}, {"answer": "join(', ', text)"}, "can't be evaluated"),
        ({"text": "x" * 2000}, {"max_frame_bytes": 1000}, "more than 1000 bytes; raise max_frame_bytes"),
        ({"text": "x" * 2000}, {"max_reply_bytes": 1000}, "more than 1000 bytes for one answer"),
    ],
)
async def test_a_frame_that_is_of_no_use_is_a_bad_reply(
    frame: Any, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(AdapterReplyError, match=said) as caught:
        await _ask(_saying(frame), **settings)

    assert not caught.value.retryable


async def test_an_endless_answer_is_given_up() -> None:
    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        while not socket.closed:
            await socket.send_json({"text": "x" * 1000})

    with pytest.raises(AdapterReplyError, match="for one answer"):
        await _ask(chat, until="done", max_reply_bytes=100_000)


async def test_more_after_a_complete_answer_is_not_taken_for_the_next_one() -> None:
    more = asyncio.Event()

    async def chat(socket: web.WebSocketResponse) -> None:
        await socket.receive()
        await socket.send_json({"text": "Yes."})
        await socket.send_json({"text": "And no."})
        await socket.ping()
        assert (await socket.receive()).type is WSMsgType.PONG  # so both frames were read
        more.set()
        await socket.receive()

    async with (
        chatting(chat, autoping=False) as url,
        entered(WebSocketAdapter(url=url, send={}, answer="text", history="server")) as adapter,
        adapter.session(TALK) as session,
    ):
        assert (await session.ask(REQUEST)).text == "Yes."
        await more.wait()
        with pytest.raises(AdapterReplyError, match=r"And no\..*set until"):
            await session.ask(REQUEST)


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
            entered(WebSocketAdapter(url=url, send={}, answer="text", history=history)) as adapter,
            adapter.session(TALK) as session,
        ):
            ask = asyncio.create_task(session.ask(REQUEST))
            await asked.wait()
            ask.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ask
            async with asyncio.timeout(PATIENCE_S):
                assert await ended.get() == WSCloseCode.OK


def test_the_gaps_between_pieces_add_up_to_the_time_from_the_first_to_the_last() -> None:
    """However short each is."""

    class Everywhere:
        expression = "@"

        def holds(self, frame: WebSocketFrame, value: Any) -> bool:
            return True

        def find(self, frame: WebSocketFrame, value: Any) -> Any:
            return value

        def passages(self, frame: WebSocketFrame, value: Any) -> tuple[()]:
            return ()

        def steps(self, frame: WebSocketFrame, values: Any) -> tuple[()]:
            return ()

    paths = {name: Everywhere() for name in ("answer", "until", "passages", "steps")}
    frame_format: Any = SimpleNamespace(max_reply_bytes=1000, frames=None, join="concatenate", paths=paths)
    answer = AnswerBuilder(frame_format)
    for number in range(301):
        answer.add(WebSocketFrame(place="x", text="a", at=1 + number * 0.00006, secrets=Secrets({})), "a")

    times = answer.reply(0.5, "x").times
    assert times is not None
    assert sum(times.token_gaps_100us) == pytest.approx(180, abs=1)
