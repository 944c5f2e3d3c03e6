"""The ``http`` adapter with ``stream``: server-sent events and JSON lines of any shape."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Passage,
)
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.servers import answering, cutting, event, playing, streamed
from tests.waiting import PATIENCE_S

TALK = Conversation(id="c", turns=())
REQUEST = ChatRequest(question="Q?", history=(), depth=1)
SSE: dict[str, Any] = {"stream": "sse", "piece": "text", "body": {"q": "{{question}}"}}
LINES: dict[str, Any] = {**SSE, "stream": "json-lines"}


async def _backend(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    if body["q"] == FAIL:
        return web.Response(status=422, text="no")
    response = web.StreamResponse()
    await response.prepare(request)
    for piece in (f"{body['id']}: ", f"{len(body['log'])} before"):
        await response.write(event({"text": piece}))
        if body["q"] == HANG:
            await asyncio.Event().wait()
    await response.write(event("[DONE]"))
    return response


class TestStreaming(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        body = {"q": "{{question}}", "id": "{{conversation.id}}", "log": "{{history}}"}
        async with answering(_backend) as address:
            yield HttpAdapter(url=address, stream="sse", piece="text", until="[DONE]", body=body)


async def _ask(*parts: bytes, **settings: Any) -> ChatReply:
    async def handler(request: web.Request) -> web.StreamResponse:
        return await streamed(request, *parts)

    async with (
        answering(handler) as address,
        HttpAdapter(url=address, **settings) as adapter,
        adapter.session(TALK) as session,
    ):
        return await session.ask(REQUEST)


def _line(value: Any) -> bytes:
    return event(value).removeprefix(b"data: ").removesuffix(b"\n")


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (SSE, [event({"text": "Ye"}), event({"other": 1}), event({"text": "s."})]),
        (SSE | {"until": "[DONE]"}, [event({"text": "Yes."}), event("[DONE]"), event({"text": "No."})]),
        (
            SSE | {"until": "type == 'end'"},
            [event({"type": "begin", "text": ""}), event({"text": "Yes."}), event({"type": "end"}), event(5)],
        ),
        (
            SSE | {"until": "done"},
            [event({"text": "Ye", "done": False}), event({"text": "s.", "done": True})],
        ),
        (SSE | {"piece": "a.b[0]"}, [event({"a": {"b": ["Yes."]}}), event({"a": 1}), event(7)]),
        (SSE | {"piece": "@"}, [event('"Yes"'), event('"."')]),
        (
            SSE | {"piece": "type == 'text' && text"},
            [event({"type": "ping"}), event({"type": "text", "text": "Yes."})],
        ),
        (
            SSE | {"piece": "texts[0] || more"},
            [event({"texts": ["Yes."]}), event({"more": []}), event({"more": {}})],
        ),
        (SSE | {"join": "last"}, [event({"text": "Y"}), event({"text": "Yes."}), event({"text": None})]),
        (LINES, [_line({"text": "Ye"}), b"\r\n", _line({"text": "s."}).strip()]),
        (LINES | {"until": "done"}, [_line({"text": "Yes."}) + _line({"done": True}), b"{"]),
    ],
)
async def test_a_text_is_taken_from_each_event(settings: dict[str, Any], parts: list[bytes]) -> None:
    assert (await _ask(*parts, **settings)).text == "Yes."


async def test_numbers_are_texts_and_pieces_are_timed() -> None:
    reply = await _ask(*(event({"text": number}) for number in (4, 2)), **SSE)

    assert reply.text == "42"
    assert reply.times is not None
    assert reply.times.first_token is not None
    assert len(reply.times.token_gaps_100us) == 1


@pytest.mark.parametrize("until", ["[DONE]", "done"])
async def test_nothing_is_waited_for_after_the_last_event(until: str) -> None:
    stream = event({"text": "Yes."}) + event({"done": True}) + event("[DONE]")
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(stream)
    async with (
        playing(head + stream + b"\r\n", stay=True) as address,
        HttpAdapter(url=address, until=until, **SSE) as adapter,
        adapter.session(TALK) as session,
        asyncio.timeout(PATIENCE_S),
    ):
        assert (await session.ask(REQUEST)).text == "Yes."


async def test_session_and_passages_are_those_of_the_last_event_that_has_them() -> None:
    sent = []

    async def handler(request: web.Request) -> web.StreamResponse:
        sent.append((await request.json())["s"])
        return await streamed(
            request,
            event({"sid": "old", "docs": ["One."]}),
            event({"sid": f"s{len(sent)}", "docs": ["Two."], "text": "Yes."}),
            event({"text": "" if len(sent) == 2 else " And no."}),
        )

    async with (
        answering(handler) as address,
        HttpAdapter(
            url=address,
            stream="sse",
            piece="text",
            session_id="sid",
            passages="docs",
            body={"s": "{{session_id}}"},
        ) as adapter,
        adapter.session(TALK) as session,
    ):
        replies = [await session.ask(REQUEST) for _ in range(3)]

    assert sent == [None, "s1", "s2"]
    assert [reply.text for reply in replies] == ["Yes. And no.", "Yes.", "Yes. And no."]
    assert replies[0].passages == (Passage(id="1", text="Two."),)


async def test_a_session_goes_on_with_the_id_of_a_stream_that_was_cut() -> None:
    sent = []

    async def handler(request: web.Request) -> web.StreamResponse:
        sent.append((await request.json())["s"])
        end = event("[DONE]") if len(sent) > 1 else b""
        return await streamed(request, event({"sid": "s1", "text": "Yes."}), end)

    async with (
        answering(handler) as address,
        HttpAdapter(
            url=address,
            stream="sse",
            piece="text",
            until="[DONE]",
            session_id="sid",
            body={"s": "{{session_id}}"},
        ) as adapter,
        adapter.session(TALK) as session,
    ):
        with pytest.raises(AdapterCutOffError):
            await session.ask(REQUEST)
        await session.ask(REQUEST)

    assert sent == [None, "s1"]


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("settings", [SSE | {"until": "[DONE]"}, LINES | {"until": "done"}])
async def test_a_stream_cut_anywhere_is_told_with_the_text_that_had_come(
    framing: str, settings: dict[str, Any]
) -> None:
    make = event if settings["stream"] == "sse" else _line
    parts = [
        make({"text": "Schö"}),
        make({"text": "n."}),
        make("[DONE]" if make is event else {"done": True}),
    ]
    stream = b"".join(parts)
    outcomes = []
    async with cutting(stream) as address:
        for much in range(0, len(stream) + 1, 3):
            ended = "".join(
                text
                for text, place in (("Schö", len(parts[0])), ("n.", len(parts[0] + parts[1])))
                # The line's own end may be missing where the server ended the stream.
                if much >= place - (framing == "close" and make is _line)
            )
            try:
                async with (
                    HttpAdapter(url=f"{address}/{much}/{framing}/", **settings) as adapter,
                    adapter.session(TALK) as session,
                ):
                    text = (await session.ask(REQUEST)).text
            except AdapterError as error:
                outcomes.append(error.outcome)
                text = error.partial if isinstance(error, AdapterCutOffError) else ""
                assert (error.outcome == "cut-off") == bool(ended)  # noqa: PT017
            else:
                outcomes.append("answered")
            assert text == ended

    assert {"cut-off", "connection-failed"} <= set(outcomes) <= {"cut-off", "connection-failed", "answered"}


async def test_without_an_end_mark_only_http_can_tell_of_a_cut() -> None:
    stream = event({"text": "Yes."}) + event({"text": " No."})
    async with cutting(stream) as address:
        for framing, outcome in (("close", "answered"), ("length", "cut-off"), ("chunked", "cut-off")):
            try:
                async with (
                    HttpAdapter(url=f"{address}/30/{framing}/", **SSE) as adapter,
                    adapter.session(TALK) as session,
                ):
                    assert (await session.ask(REQUEST)).text == "Yes."
                    found = "answered"
            except AdapterError as error:
                found = error.outcome
            assert found == outcome


@pytest.mark.parametrize(
    ("settings", "parts", "kind", "said"),
    [
        (SSE, [event({"text": ["Yes."]})], AdapterReplyError, 'piece "text" gives something else'),
        (SSE, [event({"txt": "Yes."})], AdapterReplyError, "gives no text in any of 1 events"),
        (SSE, [event("oh")], AdapterReplyError, "event 1 of the stream can't be read as JSON"),
        (LINES, [b"<html>\n"], AdapterReplyError, "event 1 of the stream can't be read as JSON"),
        (SSE | {"until": "done"}, [], AdapterConnectionError, 'before the event that until "done" means'),
        (
            SSE | {"error": "error"},
            [event({"text": "Ye"}), event({"error": {"code": 429}})],
            AdapterRateLimitedError,
            "429",
        ),
    ],
)
async def test_a_stream_that_cannot_be_used_says_why(
    settings: dict[str, Any], parts: list[bytes], kind: type[AdapterError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        await _ask(*parts, **settings)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "answer is missing"),
        ({"stream": "sse"}, "piece is missing"),
        ({"stream": "sse-named", "format": "text"}, "piece is missing"),
        ({"answer": "a", "piece": "a"}, "piece is for streams of events"),
        ({"answer": "a", "until": "a"}, "until is for streams"),
        ({"stream": "sse", "piece": "a["}, "piece.*not a JMESPath"),
        ({"stream": "sse", "piece": "a", "until": "a["}, "until.*not a JMESPath"),
        ({"stream": "sse", "piece": "a", "error": "a["}, "error.*not a JMESPath"),
        ({"stream": "sse", "answer": "a["}, "answer.*not a JMESPath"),
        ({"stream": "text", "piece": "a"}, "piece is for streams of events; a text is all answer"),
        ({"stream": "text", "passages": "a"}, "passages is for streams of events"),
        ({"stream": "text", "join": "last"}, "join: a text comes bit by bit"),
        ({"stream": "json-lines", "format": "text"}, "json-lines are JSON; set stream: text"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HttpAdapter(url="http://localhost/", **settings)
