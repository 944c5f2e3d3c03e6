"""Keys that a system repeats: hidden in what comes in and in what a program logs."""

from __future__ import annotations

import json
import traceback

import pytest
from aiohttp import web

from replay import ChatRequest, Conversation
from replay.core.errors import AdapterCutOffError, AdapterError
from replay.core.safety.redaction import keep_secret, redact, redact_error
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from replay_adapters.http.redaction import EXAMINED
from replay_adapters.websocket.adapter import WebSocketAdapter
from tests.adapters.servers import answering, playing

DRAWN = "q7Rt2vXw9LmZ4kBn8Ys3"


def test_a_secret_is_hidden_as_it_is_and_as_addresses_and_json_write_it():
    keep_secret('Bearer a/b+c="12345')
    for form in ('a/b+c="12345', "a%2Fb%2Bc%3D%2212345", json.dumps('a/b+c="12345'), 'a\\/b+c=\\"12345'):
        assert "12345" not in redact(f"<{form}>"), form


def test_words_that_an_answer_may_well_hold_are_left():
    keep_secret("english")
    keep_secret("Bearer swordfish")
    assert redact("An english swordfish, said the bearer.") == "An english swordfish, said the bearer."


def test_a_part_of_an_address_that_looks_drawn_by_lot_is_hidden_by_itself():
    keep_secret(f"services/T0/{DRAWN}?sig={DRAWN[::-1]}&v=english")
    assert redact(f"{DRAWN[::-1]}, {DRAWN} and english") == "***, *** and english"


async def test_a_jobs_reason_is_looked_through_before_it_is_cut():
    keep_secret(DRAWN)

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response({"done": False, "why": "x" * 190 + DRAWN})

    poll = Poll(until="done", failed="why", url="http://127.0.0.1:1")
    async with answering(handler) as address, HttpAdapter(url=address, answer="a", poll=poll) as adapter:
        assert DRAWN[:8] not in await failure(adapter)


async def test_half_a_key_where_the_look_at_a_reply_ends_is_not_shown():
    keep_secret(DRAWN)

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text=" " * (EXAMINED - 10) + DRAWN, status=400)

    async with answering(handler) as address, HttpAdapter(url=address, answer="a") as adapter:
        assert DRAWN[:8] not in await failure(adapter)


async def test_an_address_with_a_key_is_in_no_traceback_where_the_reply_is_not_http(monkeypatch):
    monkeypatch.setenv("BOT_KEY", DRAWN)
    async with (
        playing(b"no HTTP at all\r\n\r\n") as address,
        HttpAdapter(url=f"{address}/${{BOT_KEY}}", answer="a") as adapter,
    ):
        assert DRAWN not in await failure(adapter)


async def test_half_a_key_at_the_end_of_a_close_reason_is_not_shown():
    keep_secret(DRAWN)

    async def handler(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.close(code=4001, message=("x " * 55 + DRAWN).encode()[:123])
        return socket

    async with answering(handler) as address:
        url = address.replace("http", "ws")
        async with WebSocketAdapter(url=url, send="{{question}}", answer="a") as adapter:
            assert "x x ***)" in await failure(adapter)


async def failure(adapter: HttpAdapter | WebSocketAdapter) -> str:
    """What a program logs that asks *adapter* and gets an error."""
    async with adapter.session(Conversation(id="c", turns=())) as session:
        with pytest.raises(AdapterError) as caught:
            await session.ask(ChatRequest(question="Who?", history=(), depth=1))
    return "".join(traceback.format_exception(caught.value))


def test_an_errors_message_and_partial_answer_hold_no_secret():
    keep_secret(DRAWN)
    error = AdapterCutOffError(f"cut: {DRAWN}", partial=f"your key is {DRAWN}")
    redact_error(error)
    assert (str(error), error.partial) == ("cut: ***", "your key is ***")
