"""The ``http`` adapter where replies are texts: in one piece, bit by bit, or in server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from replay import AdapterCutOffError, AdapterReplyError, ChatReply
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.asking import reply_of
from tests.adapters.servers import answering, cutting, http, playing
from tests.data_tables import from_table

TEXT = "Schöne 🐈 naïvely 東京."


async def _backend(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    if body["q"] == FAIL:
        return web.Response(status=422, text="no")
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    await response.prepare(request)
    await response.write(f"{body['id']}: ".encode())
    if body["q"] == HANG:
        await asyncio.Event().wait()
    await response.write(f"{len(body['log'])} before".encode())
    return response


BODY = {"q": "{{question}}", "id": "{{conversation.id}}", "log": "{{history}}"}


IN_ONE_PIECE, BIT_BY_BIT = {"format": "text"}, {"stream": "text"}
both = pytest.mark.parametrize("settings", [IN_ONE_PIECE, BIT_BY_BIT])


class TestTheContract(AdapterContract):
    @pytest.fixture(params=[IN_ONE_PIECE, BIT_BY_BIT])
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[HttpAdapter]:
        async with answering(_backend) as address:
            yield HttpAdapter(url=address, body=BODY, **request.param)


async def _asked(address: str, **settings: Any) -> ChatReply:
    return await reply_of(HttpAdapter(url=address, **settings))


def _chunked(*parts: bytes, kind: str) -> list[bytes]:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return [head, *(b"%x\r\n%b\r\n" % (len(part), part) for part in parts), b"0\r\n\r\n"]


@both
@from_table
async def test_a_text_is_read_in_its_encoding(settings: dict[str, Any], kind: str, encoding: str) -> None:
    async with playing(*_chunked(TEXT.encode(encoding), kind=kind)) as address:
        assert (await _asked(address, **settings)).text == TEXT


async def test_characters_may_be_cut_anywhere_between_chunks() -> None:
    """Byte by byte, each in a chunk of its own: every character of several bytes is cut everywhere."""

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for byte in TEXT.encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(0)
        return response

    async with answering(drip) as address:
        reply = await _asked(address, stream="text")

    assert reply.text == TEXT
    assert reply.times is not None
    assert reply.times.first_token is not None


async def test_a_first_token_is_a_first_character() -> None:
    """Half a character is no text yet."""
    seen = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        first, rest = "ö".encode()[:1], "ö".encode()[1:]
        for part in (first, rest + b"k", b"o."):
            await response.write(part)
            for _ in range(20):
                await asyncio.sleep(0)
        seen.set()
        return response

    async with answering(handler) as address:
        reply = await _asked(address, stream="text")

    assert reply.text == "öko."
    assert reply.times is not None
    assert reply.times.first_token is not None
    assert reply.times.first_byte is not None
    assert reply.times.first_token > reply.times.first_byte
    assert len(reply.times.token_gaps_100us) == 1


@both
async def test_what_looks_like_json_is_a_text_all_the_same(settings: dict[str, Any]) -> None:
    for text in ("1.50", "true", "null", '{"a": 1}', '"quoted"'):
        async with playing(http(text.encode())) as address:
            assert (await _asked(address, **settings)).text == text


async def test_events_may_hold_texts() -> None:
    events = [b"data: In", b"data:  18", b"data: 89", b"event: ping\ndata:", b"data: .50", b"data:\ndata:"]
    stream = b"\n\n".join([*events, b"data: Yes.", b"data: [DONE]", b""])
    kind = "Content-Type: text/event-stream\r\n"
    for settings in ({"stream": "sse", "until": "[DONE]"}, {"stream": "sse", "piece": "@ != '[DONE]' && @"}):
        async with playing(http(stream, headers=kind)) as address:
            assert (await _asked(address, format="text", **settings)).text == "In 1889.50\nYes."


async def test_a_text_that_is_cut_is_told_with_what_had_come() -> None:
    stream = "Schö".encode()
    async with cutting(stream) as address:
        for framing in ("chunked", "length"):
            with pytest.raises(AdapterCutOffError, match="the stream ended before its end") as caught:
                await _asked(f"{address}/{len(stream) - 1}/{framing}/", stream="text")
            assert caught.value.partial == "Sch"


@both
@pytest.mark.parametrize("text", [b"", b" \n"])
async def test_an_empty_text_is_a_bad_reply(settings: dict[str, Any], text: bytes) -> None:
    async with playing(http(text)) as address:
        with pytest.raises(AdapterReplyError, match="an empty text"):
            await _asked(address, **settings)
