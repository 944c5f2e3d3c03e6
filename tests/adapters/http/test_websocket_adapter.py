"""The ``websocket`` adapter: frames out and in, when an answer is complete, and what ends a connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import pytest
from aiohttp import web

from replay import AdapterReplyError, ChatReply, ChatRequest, Conversation, Exchange, Passage
from replay.testing import FAIL, HANG, AdapterContract, entered
from replay_adapters.chat.streamed_answer import token_gaps_100us
from replay_adapters.http.websocket import WebSocketAdapter
from tests.adapters.asking import session_of
from tests.adapters.servers import answering
from tests.data_tables import from_table
from tests.waiting import others_first

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


class TestTheContract(AdapterContract):
    @pytest.fixture(params=[CLIENT, SERVER], ids=["history sent along", "a connection for each conversation"])
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[WebSocketAdapter]:
        async with chatting(Backend().chat) as url:
            yield WebSocketAdapter(url=url, **request.param)


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
    async with chatting(chat) as url, session_of(WebSocketAdapter(url=url, **settings), TALK) as session:
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
        session_of(
            WebSocketAdapter(url=url, send="{{question}}", format="text", history="server"), TALK
        ) as session,
    ):
        assert (await session.ask(REQUEST)).text == "one"
        was_read.set()
        await sent.wait()
        if when == "read":
            await others_first()
        with pytest.raises(
            AdapterReplyError, match=r'after its last answer .* "another".*set until'
        ) as caught:
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
            await socket.send_json({"text": "x" * 20_000})

    with pytest.raises(AdapterReplyError, match="for one answer"):
        await _ask(chat, until="done", max_reply_bytes=100_000)


def test_the_gaps_between_pieces_add_up_to_the_time_from_the_first_to_the_last() -> None:
    """However short each is."""
    gaps = token_gaps_100us([1 + number * 0.00006 for number in range(301)])
    assert sum(gaps) == pytest.approx(180, abs=1)
