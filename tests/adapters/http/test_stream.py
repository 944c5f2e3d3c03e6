"""The ``http`` adapter with ``stream``: server-sent events and JSON lines of any shape."""

from __future__ import annotations

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
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.servers import answering, cutting, event, streamed

TALK = Conversation(id="c", turns=())
REQUEST = ChatRequest(question="Q?", history=(), depth=1)
SSE: dict[str, Any] = {"stream": "sse", "piece": "text", "body": {"q": "{{question}}"}}
LINES: dict[str, Any] = {**SSE, "stream": "json-lines"}


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
