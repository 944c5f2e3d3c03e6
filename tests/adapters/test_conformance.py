"""One table for all that talk to chat systems over HTTP: each case, over each wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import accumulate
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterCutOffError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Exchange,
    Session,
)
from replay.core.adapter import Adapter
from replay.testing import AdapterContract
from tests.adapters.asking import EMPTY
from tests.adapters.servers import answering, cutting, http, playing, streamed
from tests.adapters.wires import STREAMED_WIRES, WHOLE_WIRES, System, Wire
from tests.waiting import PATIENCE_S

REQUEST = ChatRequest(question="And then?", history=(Exchange(question="Who?", answer="Mira."),), depth=2)
KEY = "sk-very-secret-4711"


def _over(wires: tuple[Wire, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("wire", wires, ids=lambda wire: wire.name)


every_wire, streamed_wires = _over(WHOLE_WIRES + STREAMED_WIRES), _over(STREAMED_WIRES)


class TestTheContract(AdapterContract):
    @pytest.fixture(params=WHOLE_WIRES + STREAMED_WIRES, ids=lambda wire: wire.name)
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
        async with answering(System(request.param).handle) as address:
            yield request.param.make(address)


@asynccontextmanager
async def _session(wire: Wire, address: str, **settings: Any) -> AsyncIterator[Session]:
    async with (
        wire.make(address, **settings) as adapter,  # type: ignore[attr-defined]
        adapter.session(EMPTY) as session,
        asyncio.timeout(PATIENCE_S),
    ):
        yield session


async def _reply(wire: Wire, address: str, **settings: Any) -> ChatReply:
    async with _session(wire, address, **settings) as session:
        return await session.ask(REQUEST)


async def _failure(wire: Wire, address: str, **settings: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await _reply(wire, address, **settings)
    return caught.value


STATUSES = [
    (400, "refused", False, None),
    (401, "refused", False, None),
    (429, "rate-limited", True, 3.0),
    (503, "refused", True, 3.0),
]


@every_wire
@pytest.mark.parametrize(("status", "outcome", "retryable", "wait_s"), STATUSES)
async def test_a_status_says_what_went_wrong_and_no_key_is_shown(
    wire: Wire, status: int, outcome: str, retryable: bool, wait_s: float | None, monkeypatch
) -> None:
    monkeypatch.setenv("BOT_KEY", KEY)

    async def handler(request: web.Request) -> web.Response:
        (sent,) = (value for value in request.headers.values() if KEY in value)
        assert sent in (KEY, f"Bearer {KEY}")
        return web.Response(status=status, text=f"not {sent}", headers={"Retry-After": "3"})

    async with answering(handler) as address:
        error = await _failure(wire, address, **wire.key)

    assert (error.outcome, error.retryable) == (outcome, retryable)
    assert error.retry_after_s in (wait_s, 3.0)
    assert f"answered {status}" in str(error)
    assert KEY not in str(error)
    assert "***" in str(error)
    assert ("BOT_KEY" in str(error)) == (status == 401)


@every_wire
async def test_a_page_is_no_answer(wire: Wire) -> None:
    async with playing(http(b"<html>welcome</html>\n", headers="Content-Type: text/html\r\n")) as address:
        error = await _failure(wire, address)

    assert error.outcome in ("bad-reply", "connection-failed")
    assert not error.retryable or error.outcome == "connection-failed"
    if wire in STREAMED_WIRES and "http" not in wire.name:
        assert "text/html, in which there is no event" in str(error)
        assert "welcome" in str(error)


@every_wire
async def test_a_template_that_does_not_fit_a_conversation_is_a_refusal_of_ours(wire: Wire) -> None:
    async with answering(System(wire).handle) as address:
        error = await _failure(wire, address, **wire.unfit)

    assert isinstance(error, AdapterRefusedError)
    assert "can't be made" in str(error)
    assert not error.reached


@every_wire
async def test_an_adapter_that_was_not_entered_says_so(wire: Wire) -> None:
    async with wire.make("http://127.0.0.1:9").session(EMPTY) as session:
        with pytest.raises(RuntimeError, match="enter the adapter"):
            await session.ask(REQUEST)


@streamed_wires
async def test_pieces_are_put_together_and_timed(wire: Wire) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return await streamed(request, *wire.events("Mi", "ra sang – ", "it 😀."))

    async with answering(handler) as address:
        reply = await _reply(wire, address)

    assert reply.text == "Mira sang – it 😀."
    times = reply.times
    assert times is not None
    assert times.first_byte is not None
    assert times.first_token is not None
    assert times.sent < times.first_byte <= times.first_token <= times.done
    assert len(times.token_gaps_100us) == 2


@streamed_wires
async def test_a_slow_drip_of_single_bytes_is_a_stream_like_any_other(wire: Wire) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        stream = b"".join(wire.events("Schö", "n 😀."))
        return await streamed(request, *(bytes([byte]) for byte in stream))

    async with answering(handler) as address:
        assert (await _reply(wire, address)).text == "Schön 😀."


@streamed_wires
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_a_stream_cut_anywhere_is_told_with_the_text_that_had_come(wire: Wire, framing: str) -> None:
    """In the middle of a character, of an event, of its end; whether or not HTTP tells of the cut."""
    texts = ("Schö", "n 😀")
    events = wire.events(*texts)
    stream = b"".join(events)
    whole = len(b"".join(events[: len(wire.before) + len(texts) + wire.complete]))
    # A line's own end may be missing where the server ended the stream.
    spared = framing == "close" and "json-lines" in wire.name
    pieces = [
        (text, len(b"".join(events[: len(wire.before) + number])) - spared)
        for number, text in enumerate(texts, 1)
    ]
    character = stream.find("😀".encode()) % len(stream)
    ends = accumulate(map(len, events))
    outcomes = set()
    async with cutting(stream) as address:
        for much in {
            0,
            *range(character, character + 5),
            *(end - back for end in ends for back in (0, 1, 9)),
        }:
            came = "".join(text for text, end in pieces if end <= much)
            try:
                text = (await _reply(wire, f"{address}/{much}/{framing}")).text
            except AdapterError as error:
                assert much < whole
                assert error.retryable  # noqa: PT017 - some of the cuts end in a reply
                outcomes.add(error.outcome)
                text = error.partial if isinstance(error, AdapterCutOffError) else ""
                assert (error.outcome == "cut-off") == bool(came)  # noqa: PT017
            else:
                outcomes.add("answered")
                assert much >= whole - spared
            assert text == came

    assert {"cut-off", "connection-failed"} <= outcomes


@_over(tuple(wire for wire in STREAMED_WIRES if wire.name.startswith(("chat", "http"))))
async def test_nothing_is_waited_for_after_the_end_mark(wire: Wire) -> None:
    stream = b"".join(wire.events("Yes."))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(stream)
    async with playing(head + stream + b"\r\n", stay=True) as address:
        assert (await _reply(wire, address)).text == "Yes."


@streamed_wires
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_connection_is_used_again_after_a_stream(wire: Wire, at_once: bool) -> None:
    """Its end, which comes after the end mark, is waited for."""
    ports: set[int] = set()

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        parts = wire.events("Yes.")
        return await streamed(request, *([b"".join(parts)] if at_once else parts))

    async with answering(handler) as address, _session(wire, address) as session:
        for _ in range(5):
            await session.ask(REQUEST)

    assert len(ports) == 1


@streamed_wires
async def test_an_endless_stream_is_given_up_as_soon_as_it_is_too_much(wire: Wire) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, *wire.before)
        while True:
            await response.write(wire.piece("x" * 500))

    async with answering(handler) as address:
        error = await _failure(wire, address, max_reply_bytes=100_000)

    assert isinstance(error, AdapterReplyError)
    assert "more than 100000 bytes; raise max_reply_bytes" in str(error)


@_over(tuple(wire for wire in STREAMED_WIRES if "http" not in wire.name))
async def test_a_server_that_does_not_stream_is_taken_as_it_is(wire: Wire) -> None:
    whole = next(other.whole for other in WHOLE_WIRES if other.name == wire.name.removesuffix(", streamed"))
    assert whole is not None

    async def handler(request: web.Request) -> web.Response:
        return web.json_response(whole("Yes."))

    async with answering(handler) as address:
        reply = await _reply(wire, address)

    assert reply.text == "Yes."
    assert reply.times is not None
    assert reply.times.first_token is None
