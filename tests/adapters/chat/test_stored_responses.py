"""The ``openai`` adapter with ``api: responses`` and ``history: server``: the server keeps what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from replay import AdapterError, AdapterRefusedError, AdapterReplyError, ChatRequest, Message
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.asking import session_of
from tests.adapters.chat.speaking import response, spoken
from tests.adapters.servers import answering, event, streamed

CALL = {"type": "function_call", "call_id": "t1", "name": "stock", "arguments": "{}"}


class Stored:
    """A server of Responses that keeps each with all before it, as OpenAI's does."""

    def __init__(self) -> None:
        self.kept: dict[str | None, list[dict[str, Any]]] = {None: []}
        self.bodies: list[dict[str, Any]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        before = self.kept[body.get("previous_response_id")]
        items = [*before, *body["input"]]
        open_calls = {item["call_id"] for item in items if item.get("type") == "function_call"}
        open_calls -= {item["call_id"] for item in items if item.get("type") == "function_call_output"}
        last = items[-1].get("content")
        if open_calls or last == FAIL:
            return web.json_response({"error": {"message": "no tool output, or no"}}, status=400)
        if last == HANG:
            await asyncio.Event().wait()
        asked = [item for item in items if item.get("role") == "user"]
        if last == "tool":
            output = [CALL]
        else:
            text = f"{body.get('user')}: {len(asked) - 1} before"
            output = [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            ]
        id = f"resp_{len(self.kept)}"
        self.kept[id] = items + output
        response = {"id": id, "status": "completed", "output": output}
        if not body["stream"]:
            return web.json_response(response)
        deltas = [
            event({"type": "response.output_text.delta", "delta": part["text"]})
            for item in output
            for part in item.get("content", ())
        ]
        return await streamed(request, *deltas, event({"type": "response.completed", "response": response}))


def _settings(**more: Any) -> dict[str, Any]:
    return {"model": "m", "api": "responses", "history": "server", **more}


class TestStoredResponses(AdapterContract):
    @pytest.fixture(params=[False, True], ids=["whole", "streamed"])
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[OpenAIAdapter]:
        async with answering(Stored().handle) as address:
            extra = {"user": "{{conversation.id}}"}
            yield OpenAIAdapter(base_url=address, stream=request.param, **_settings(extra=extra))


def _request(question: str, depth: int, *steps: Message) -> ChatRequest:
    return ChatRequest(question=question, history=(), depth=depth, steps=steps, runs_tools=True)


async def _asked(server: Stored, *requests: ChatRequest, **settings: Any) -> list[Any]:
    came: list[Any] = []
    async with (
        answering(server.handle) as address,
        session_of(OpenAIAdapter(base_url=address, **_settings(**settings))) as session,
    ):
        for request in requests:
            try:
                came.append((await session.ask(request)).text)
            except AdapterError as error:
                came.append(type(error))
    return came


async def test_only_the_question_is_sent_with_the_answer_that_it_follows() -> None:
    server = Stored()
    came = await _asked(server, *(_request(f"Q{n}?", n) for n in (1, 2, 3)), system="Be brief.")

    assert came == [f"None: {n} before" for n in range(3)]
    assert [body.get("previous_response_id") for body in server.bodies] == [None, "resp_1", "resp_2"]
    assert [len(body["input"]) for body in server.bodies] == [1, 1, 1]
    assert {body["instructions"] for body in server.bodies} == {"Be brief."}  # they aren't carried over


async def test_results_of_tools_follow_the_response_that_called_them() -> None:
    server = Stored()
    call, result = Message(role="assistant"), Message(role="tool", tool_call_id="t1", text="3 pairs")
    came = await _asked(server, _request("Q1?", 1), _request("tool", 2), _request("tool", 2, call, result))

    assert came[-1] == "None: 1 before"
    assert server.bodies[-1]["previous_response_id"] == "resp_2"
    assert server.bodies[-1]["input"] == [
        {"type": "function_call_output", "call_id": "t1", "output": "3 pairs"}
    ]


async def test_after_a_turn_without_an_answer_the_next_follows_the_last_answer() -> None:
    """A response with an open call can't be followed by a question, and one that failed isn't there."""
    server = Stored()
    came = await _asked(
        server, _request("Q1?", 1), _request("tool", 2), _request(FAIL, 3), _request("Q4?", 4)
    )

    assert came == ["None: 0 before", "", AdapterRefusedError, "None: 1 before"]
    assert server.bodies[-1]["previous_response_id"] == "resp_1"


async def test_a_reply_that_nothing_can_follow_is_a_bad_reply() -> None:
    with pytest.raises(AdapterReplyError, match="without the id of a response"):
        await spoken("responses", response("Yes."), _request("Q?", 1), history="server")


@pytest.mark.parametrize("settings", [{"api": "chat"}, {"extra": {"store": False}}])
def test_what_stores_nothing_keeps_no_history(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="history: server is for api: responses"):
        OpenAIAdapter(base_url="http://localhost/v1", **(_settings() | settings))
