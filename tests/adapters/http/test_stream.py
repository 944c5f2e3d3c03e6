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
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    Passage,
)
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.asking import FIRST, exchange, reply_of, session_of
from tests.adapters.servers import answering, cutting, event, streamed

SSE: dict[str, Any] = {"stream": "sse", "piece": "text", "body": {"q": "{{question}}"}}
LINES: dict[str, Any] = {**SSE, "stream": "json-lines"}
LANGSERVE: dict[str, Any] = {
    "stream": "sse-named",
    "piece": "event == 'data' && data",
    "until": "event == 'end'",
    "error": "event == 'error' && data",
}
END = b"event: end\r\n\r\n"
"""As sse-starlette sends it: without data, so that a browser would pass it over."""


def _named(**settings: Any) -> dict[str, Any]:
    return {"stream": "sse-named", **settings}


async def _ask(*parts: bytes, **settings: Any) -> ChatReply:
    reply, _ = await exchange(lambda address: HttpAdapter(url=address, **settings), parts)
    return reply


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
        # ``sse-named``: which event is what is said by its name.
        (LANGSERVE, [event({"run_id": "1"}, "metadata"), event('"Ye"', "data"), event('"s."', "data"), END]),
        # An event without a name is called message, and without data it is none.
        (_named(piece="event == 'message' && data"), [event('"Yes."'), b"data:\n\n", event('"No."', "x")]),
        # Data that aren't JSON are a text; Assistants end with one.
        (
            _named(piece="event == 'delta' && data.text", until="event == 'done'"),
            [event({"text": "Yes."}, "delta"), event("[DONE]", "done"), event("{", "x")],
        ),
        (_named(piece="event == 'text' && data"), [event("Yes", "text"), event(".", "text")]),
        (_named(piece="data.text", until="[DONE]"), [event({"text": "Yes."}), event("[DONE]")]),
        # The whole answer goes before its pieces.
        (
            _named(piece="event == 'delta' && data", answer="event == 'final' && data.answer"),
            [event('"Yes, "', "delta"), event('"er"', "delta"), event({"answer": "Yes."}, "final")],
        ),
        (
            _named(answer="event == 'values' && data[-1]"),
            [event(["Q?"], "values"), event(["Q?", "Yes."], "values")],
        ),
    ],
)
async def test_a_text_is_taken_from_each_event(settings: dict[str, Any], parts: list[bytes]) -> None:
    assert (await _ask(*parts, **settings)).text == "Yes."


async def test_numbers_are_texts() -> None:
    reply = await _ask(*(event({"text": number}) for number in (4, 2)), **SSE)

    assert reply.text == "42"


SESSION = {**SSE, "session_id": "sid", "body": {"s": "{{session_id}}"}}


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

    settings = {**SESSION, "passages": "docs"}
    async with answering(handler) as address, session_of(HttpAdapter(url=address, **settings)) as session:
        replies = [await session.ask(FIRST) for _ in range(3)]

    assert sent == [None, "s1", "s2"]
    assert [reply.text for reply in replies] == ["Yes. And no.", "Yes.", "Yes. And no."]
    assert replies[0].passages == (Passage(id="1", text="Two."),)


async def test_a_session_goes_on_with_the_id_of_a_stream_that_was_cut() -> None:
    sent = []

    async def handler(request: web.Request) -> web.StreamResponse:
        sent.append((await request.json())["s"])
        end = event("[DONE]") if len(sent) > 1 else b""
        return await streamed(request, event({"sid": "s1", "text": "Yes."}), end)

    settings = {**SESSION, "until": "[DONE]"}
    async with answering(handler) as address, session_of(HttpAdapter(url=address, **settings)) as session:
        with pytest.raises(AdapterCutOffError):
            await session.ask(FIRST)
        await session.ask(FIRST)

    assert sent == [None, "s1"]


async def test_without_an_end_mark_only_http_can_tell_of_a_cut() -> None:
    stream = event({"text": "Yes."}) + event({"text": " No."})
    async with cutting(stream) as address:
        for framing, outcome in (("close", "answered"), ("length", "cut-off"), ("chunked", "cut-off")):
            try:
                assert (await reply_of(HttpAdapter(url=f"{address}/30/{framing}/", **SSE))).text == "Yes."
                found = "answered"
            except AdapterError as error:
                found = error.outcome
            assert found == outcome


@pytest.mark.parametrize(
    ("settings", "parts", "kind", "said"),
    [
        (SSE, [event({"text": ["Yes."]})], AdapterReplyError, 'piece "text" gives something else'),
        (SSE, [event('{"text": NaN}')], AdapterReplyError, "something else than a text"),
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
        (
            LANGSERVE,
            [event('"Ye"', "data")],
            AdapterCutOffError,
            "before the event that until \"event == 'end'\"",
        ),
        (LANGSERVE, [], AdapterConnectionError, "before any text"),
        (LANGSERVE, [END], AdapterReplyError, "gives no text in any of 1 events"),
        (LANGSERVE, [event({"a": 1}, "data")], AdapterReplyError, "something else than a text"),
        (LANGSERVE, [event("true", "data")], AdapterReplyError, "something else than a text"),
        (
            LANGSERVE,
            [event('{"text": "Ye', "data"), END],
            AdapterReplyError,
            "event 1 of the stream can't be read",
        ),
        (LANGSERVE, [event('"Ye', "data"), END], AdapterReplyError, "event 1 of the stream can't be read"),
        (
            LANGSERVE,
            [event({"status_code": 500}, "error")],
            AdapterRefusedError,
            "the fault is on the system's side",
        ),
        (LANGSERVE, [event("out of paper", "error")], AdapterRefusedError, "out of paper"),
        # Gradio's, which has no data unless the app shows its errors.
        (
            _named(piece="data", error="event == 'error'"),
            [event("null", "error")],
            AdapterRefusedError,
            '"event":"err',
        ),
        (
            _named(piece="data", error="event == 'error'"),
            [event({"status_code": 429}, "error")],
            AdapterError,
            "ask less often",
        ),
        (
            _named(piece="event == 'delta' && data", answer="event == 'final' && data"),
            [event('"Ye"', "delta")],
            AdapterCutOffError,
            "before an event with the answer",
        ),
        (_named(answer="event == 'final' && data"), [event('"Ye"', "delta")], AdapterReplyError, "answer"),
    ],
)
async def test_a_stream_that_cannot_be_used_says_why(
    settings: dict[str, Any], parts: list[bytes], kind: type[AdapterError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        await _ask(*parts, **settings)

    assert said in str(caught.value)


async def test_pieces_are_timed_and_the_whole_answer_is_none_of_them() -> None:
    settings = _named(piece="event == 'delta' && data", answer="event == 'final' && data")
    parts = [event('"Ye"', "delta"), event('"s."', "delta"), event('"Yes."', "final")]

    timed = (await _ask(*parts, **settings)).times
    alone = (await _ask(parts[-1], **settings)).times

    assert timed is not None
    assert alone is not None
    assert len(timed.token_gaps_100us) == 1
    assert alone.first_token is not None


async def test_an_error_event_with_a_status_is_asked_again_as_that_status_says() -> None:
    for status, retryable in ((500, True), (400, False)):
        with pytest.raises(AdapterRefusedError) as caught:
            await _ask(event({"status_code": status}, "error"), **LANGSERVE)
        assert caught.value.retryable == retryable
