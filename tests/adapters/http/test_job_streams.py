"""
The ``http`` adapter with ``poll`` and ``stream``: submit, then read the events of what was submitted.

The server speaks Gradio's documented API (https://www.gradio.app/guides/querying-gradio-apps-with-curl).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import perf_counter
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
    WireTimes,
)
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from tests.adapters.asking import reply_of
from tests.adapters.servers import answering, event, running, streamed

GRADIO: dict[str, Any] = {
    "stream": "sse-named",
    "piece": "event == 'generating' && data[0]",
    "answer": "event == 'complete' && data[0]",
    "join": "last",
    "until": "event == 'complete'",
    "error": "event == 'error'",
}
HEARTBEAT = event("null", "heartbeat")


class Gradio:
    """An app with one function, which remembers what a session asked before."""

    def __init__(self) -> None:
        self.submitted: dict[str, tuple[str, str]] = {}
        self.asked: dict[str, int] = {}

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/gradio_api/call/chat", self.submit)
        app.router.add_get("/gradio_api/call/chat/{id}", self.events)
        return app

    async def submit(self, request: web.Request) -> web.Response:
        body = await request.json()
        id = f"e{len(self.submitted)}"
        self.submitted[id] = (body["session_hash"], body["data"][0])
        return web.json_response({"event_id": id})

    async def events(self, request: web.Request) -> web.StreamResponse:
        session, asked = self.submitted[request.match_info["id"]]
        question, _, of = asked.partition(" of ")
        if question == FAIL:
            return await streamed(request, HEARTBEAT, event("null", "error"))
        before = self.asked.get(session, 0)
        self.asked[session] = before + 1
        parts = [HEARTBEAT, event([f"{of}: "], "generating")]
        if question == HANG:
            await streamed(request, *parts)
            await asyncio.Event().wait()
        whole = event([f"{of}: {before} before"], "generating")
        return await streamed(request, *parts, whole, event([f"{of}: {before} before"], "complete"))


class TestGradio(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        async with running(Gradio().app()) as address:
            url = f"{address}/gradio_api/call/chat"
            yield HttpAdapter(
                url=url,
                body={"data": ["{{question}} of {{conversation.id}}"], "session_hash": "{{session_id}}"},
                history="server",
                poll=Poll(url=url + "/{{submitted.event_id}}"),
                **GRADIO,
            )


SUBMITTED = {"event_id": "e1"}


async def _ask(
    *parts: bytes,
    submitted: Any = SUBMITTED,
    status: int = 200,
    got_at: list[float] | None = None,
    **settings: Any,
) -> ChatReply:
    """
    The answer to a job whose address streams *parts*, or answers with *status*.

    The moment of its submission is added to *got_at*.
    """
    got_at = [] if got_at is None else got_at

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            got_at.append(perf_counter())
            return web.json_response(submitted)
        assert request.path == "/e1"
        return await streamed(request, *parts) if status == 200 else web.Response(status=status, text="no")

    async with answering(handler) as address:
        return await reply_of(
            HttpAdapter(
                url=address, poll=Poll(url=address + "/{{submitted.event_id}}"), **{**GRADIO, **settings}
            )
        )


COMPLETE = event(["Yes."], "complete")


async def test_the_latency_is_from_submission_and_pieces_are_timed() -> None:
    got_at: list[float] = []
    parts = [event(["Ye"], "generating"), event(["Yes."], "generating"), COMPLETE]
    reply = await _ask(HEARTBEAT, *parts, got_at=got_at)

    assert reply.text == "Yes."
    times = reply.times
    assert isinstance(times, WireTimes)
    assert times.first_byte is not None
    assert times.first_token is not None
    assert times.sent < got_at[0] < times.first_byte <= times.first_token <= times.done
    assert len(times.token_gaps_100us) == 1


async def test_an_answer_may_come_in_one_event() -> None:
    assert (await _ask(HEARTBEAT, COMPLETE)).text == "Yes."


async def test_a_job_may_stream_a_text() -> None:
    nothing = dict.fromkeys(GRADIO) | {"join": "concatenate", "stream": "text"}

    assert (await _ask(b"Ye", b"s.", **nothing)).text == "Yes."


@pytest.mark.parametrize(
    ("parts", "settings", "kind", "said"),
    [
        (
            [event(["Ye"], "generating")],
            {},
            AdapterCutOffError,
            "the stream ended before the event that until",
        ),
        ([HEARTBEAT], {}, AdapterConnectionError, "and before any text"),
        ([event({"error": "out of paper"}, "error")], {}, AdapterRefusedError, "out of paper"),
        ([event("null", "error")], {}, AdapterRefusedError, "told of an error"),
        ([], {"submitted": {"detail": "no"}}, AdapterReplyError, "poll.url can't be made"),
        ([], {"status": 404}, AdapterRefusedError, "404"),
        ([], {"status": 429}, AdapterRateLimitedError, "429"),
    ],
)
async def test_what_went_wrong_is_told_and_may_stand_in_the_systems_history(
    parts: list[bytes], settings: dict[str, Any], kind: type[AdapterError], said: str
) -> None:
    """Whatever happens after the submission: a system that keeps the history must not be asked again."""
    with pytest.raises(kind) as caught:
        await _ask(*parts, **settings)

    assert said in str(caught.value)
    assert caught.value.reached
