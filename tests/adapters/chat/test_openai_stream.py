"""The ``openai`` adapter with ``stream: true``: what is made of a stream, whole, broken, or none at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    ChatReply,
    ChatRequest,
    Passage,
    TokenLogprobs,
    Usage,
)
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.asking import reply_of
from tests.adapters.chat.speaking import spoken
from tests.adapters.servers import answering, delta, event, playing
from tests.waiting import PATIENCE_S, takes

DONE = event("[DONE]")
REQUEST = ChatRequest(question="And then?", history=(), depth=1)


async def _reply(address: str, **settings: Any) -> ChatReply:
    async with asyncio.timeout(PATIENCE_S):
        return await reply_of(OpenAIAdapter(base_url=address, model="m", stream=True, **settings), REQUEST)


async def _ask(*parts: bytes, **settings: Any) -> ChatReply:
    """The reply that is made of a stream of *parts*."""
    reply, _ = await spoken("chat", parts, REQUEST, **settings)
    return reply


async def _failure(*parts: bytes, **settings: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await _ask(*parts, **settings)
    return caught.value


async def test_it_puts_the_answer_together_and_takes_the_last_usage() -> None:
    reply = await _ask(
        delta("", usage={"prompt_tokens": 3, "completion_tokens": 0}),
        delta("Mi") + delta("ra"),
        delta(" sang – "),
        delta("it 😀."),
        delta(None, "stop"),
        event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 9}}),
        DONE,
    )

    assert reply.text == "Mira sang – it 😀."
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=9)


async def test_pieces_that_came_together_have_no_gap_and_others_the_one_they_had() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(delta("a") + delta("b"))
        await takes(0.2)
        await response.write(delta("c"))
        await takes(0.2)  # nothing comes but what is no text
        await response.write(delta("", "stop") + DONE)
        return response

    async with answering(handler) as address:
        reply = await _reply(address)

    times = reply.times
    assert times is not None
    together, later = times.token_gaps_100us
    assert together == 0
    assert later >= 1000, "0.1 s at least, though what comes is read late"
    assert times.first_token is not None
    assert times.done - times.first_token > later / 1e4 + 0.1


async def test_counts_and_errors_may_stand_beside_a_text() -> None:
    counted = delta("Ye", usage={"prompt_tokens": 3, "completion_tokens": 1})
    later = delta("s.", usage={"prompt_tokens": 3, "completion_tokens": 2})
    reply = await _ask(counted, later, delta(None, "stop"), DONE)
    found = await _failure(delta("Ye", error={"code": 429}), DONE)

    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=2)
    assert isinstance(found, AdapterRateLimitedError)


async def test_without_a_count_by_the_server_there_is_no_usage() -> None:
    """The number of pieces is not that of tokens."""
    assert (await _ask(delta("Yes."), DONE)).usage is None


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, {"stream": True, "stream_options": {"include_usage": True}}),
        ({"stream_usage": False}, {"stream": True}),
    ],
)
async def test_usage_is_asked_for_unless_told_otherwise(settings: dict[str, Any], sent: Any) -> None:
    _, got = await spoken("chat", (delta("Yes."), DONE), **settings)

    assert {name: value for name, value in got.body.items() if name.startswith("stream")} == sent


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([b": wait\n\n", delta("Yes."), DONE], id="a comment first"),
        pytest.param(
            [delta("Yes.").replace(b"\n", b"\r\n"), DONE.replace(b"\n", b"\r")], id="other line ends"
        ),
        pytest.param([b"\xef\xbb\xbf", delta("Yes."), DONE], id="byte order mark"),
        pytest.param([event(""), delta("Yes."), DONE], id="an empty event"),
        pytest.param([delta([{"type": "text", "text": "Yes."}]), DONE], id="content in parts"),
        pytest.param([event({"choices": [{"text": "Yes.", "finish_reason": "stop"}]})], id="older form"),
        pytest.param([event({"choices": [{"text": "Yes."}]}), event([]), event(5), DONE], id="of no form"),
        pytest.param([delta("Yes."), delta(None, "stop")], id="finish reason, but no end mark"),
        pytest.param([delta("Yes."), delta(None, "stop"), b"data: {"], id="broken behind the end"),
        pytest.param([delta("Yes.").replace(b"es", b"\\u0065s"), DONE], id="escapes"),
        pytest.param(
            [delta("Ye"), delta(None), event({"choices": None}), delta("s."), DONE], id="empty ones"
        ),
    ],
)
async def test_streams_may_be_of_many_forms(parts: list[bytes]) -> None:
    assert (await _ask(*parts)).text == "Yes."


async def test_halves_of_a_character_in_two_events_are_one_again() -> None:
    """Some servers cut between the two escapes of a character outside of the basic plane."""
    halves = [b'data: {"choices": [{"delta": {"content": "\\ud83%s"}}]}\n\n' % half for half in (b"d", b"")]
    halves[1] = halves[1].replace(b"\\ud83", b"\\ude00")

    assert (await _ask(*halves, DONE)).text == "😀"


async def test_a_reset_in_the_middle_is_a_cut_too() -> None:
    first = delta("Schö")
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (len(first) + 9)
    async with playing(head + first, reset=True) as address:
        with pytest.raises(AdapterCutOffError, match="the connection broke") as caught:
            await _reply(address)

    assert caught.value.partial == "Schö"
    assert caught.value.reached


async def test_log_probabilities_are_collected() -> None:
    def choice(token: str, logprob: float) -> bytes:
        logprobs = {"content": [{"token": token, "logprob": logprob, "top_logprobs": []}]}
        return event({"choices": [{"delta": {"content": token}, "logprobs": logprobs}]})

    reply = await _ask(choice("4", -0.5), choice("2", -1), DONE)

    assert reply.logprobs == (TokenLogprobs(token="4", logprob=-0.5), TokenLogprobs(token="2", logprob=-1.0))


async def test_passages_are_those_of_the_last_event_that_has_them() -> None:
    reply = await _ask(
        delta("Yes.", sources=["One."]),
        event({"choices": [], "sources": ["Two."]}),
        DONE,
        passages_path="sources",
    )

    assert reply.passages == (Passage(id="1", text="Two."),)
