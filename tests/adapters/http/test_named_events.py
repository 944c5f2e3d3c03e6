"""The ``http`` adapter with ``stream: sse-named``: which event is what is said by its name."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
)
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.servers import answering, event, streamed

TALK = Conversation(id="c", turns=())
REQUEST = ChatRequest(question="Q?", history=(), depth=1)
LANGSERVE: dict[str, Any] = {
    "stream": "sse-named",
    "piece": "event == 'data' && data",
    "until": "event == 'end'",
    "error": "event == 'error' && data",
}
END = b"event: end\r\n\r\n"
"""As sse-starlette sends it: without data, so that a browser would pass it over."""


async def _ask(*parts: bytes, **settings: Any) -> ChatReply:
    async def handler(request: web.Request) -> web.StreamResponse:
        return await streamed(request, *parts)

    async with (
        answering(handler) as address,
        HttpAdapter(url=address, **settings) as adapter,
        adapter.session(TALK) as session,
    ):
        return await session.ask(REQUEST)


def _named(**settings: Any) -> dict[str, Any]:
    return {"stream": "sse-named", **settings}


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
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
async def test_events_are_told_apart_by_their_names(settings: dict[str, Any], parts: list[bytes]) -> None:
    assert (await _ask(*parts, **settings)).text == "Yes."


async def test_pieces_are_timed_and_the_whole_answer_is_none_of_them() -> None:
    settings = _named(piece="event == 'delta' && data", answer="event == 'final' && data")
    parts = [event('"Ye"', "delta"), event('"s."', "delta"), event('"Yes."', "final")]

    timed = (await _ask(*parts, **settings)).times
    alone = (await _ask(parts[-1], **settings)).times

    assert timed is not None
    assert alone is not None
    assert len(timed.token_gaps_100us) == 1
    assert alone.first_token is not None


@pytest.mark.parametrize(
    ("settings", "parts", "kind", "said"),
    [
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


async def test_an_error_event_with_a_status_is_asked_again_as_that_status_says() -> None:
    for status, retryable in ((500, True), (400, False)):
        with pytest.raises(AdapterRefusedError) as caught:
            await _ask(event({"status_code": status}, "error"), **LANGSERVE)
        assert caught.value.retryable == retryable
