"""A served system that calls tools: whoever asks gets its calls and sends the results."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from msgspec.structs import replace

from replay import ChatRequest, Message
from replay.cli.serving.server import make_app
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.asking import EMPTY
from tests.adapters.chat.speaking import APIS, ORDER, STOCK, WHOLE, adapter_of, function_json
from tests.adapters.servers import answering, running

SCHEMA = {"type": "object", "properties": {"order": {"type": "integer"}}}
FUNCTION = {"name": "find_order", "description": "Finds one.", "parameters": SCHEMA}
TOOLS = {
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": {"type": "function", "function": {"name": "find_order"}},
    "parallel_tool_calls": False,
}
ASKED = ChatRequest(question="Q?", history=(), depth=1, parameters=TOOLS, runs_tools=True)
STEPS = (
    Message(role="assistant", text="Let me see.", tool_calls=(ORDER, STOCK)),
    Message(role="tool", text="sent", tool_call_id="t1"),
    Message(role="tool", text="none", tool_call_id="t2"),
)
IN_EACH_SHAPE = {
    "chat": TOOLS,
    "responses": {
        "tools": [{"type": "function", **FUNCTION}],
        "tool_choice": {"type": "function", "name": "find_order"},
        "parallel_tool_calls": False,
    },
    "anthropic": {
        "tools": [{"name": "find_order", "description": "Finds one.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "find_order", "disable_parallel_tool_use": True},
    },
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
async def test_its_calls_reach_whoever_asks_and_tools_and_results_reach_it(api: str, stream: bool) -> None:
    sent: list[dict[str, Any]] = []

    async def behind(got: web.Request) -> web.Response:
        sent.append(await got.json())
        return web.json_response(WHOLE[api])

    async with (
        answering(behind) as address,
        running(make_app(adapter_of(api, address), name="x")) as served,
        OpenAIAdapter(base_url=f"{served}/v1", model="x", stream=stream) as client,
        client.session(EMPTY) as session,
    ):
        reply = await session.ask(ASKED)
        await session.ask(replace(ASKED, steps=STEPS))

    calls = [(call.id, call.name, call.parsed_arguments) for call in (ORDER, STOCK)]
    assert reply.text == "Let me see."
    assert [(call.id, call.name, call.parsed_arguments) for call in reply.tool_calls] == calls
    assert IN_EACH_SHAPE[api].items() <= sent[0].items()
    async with (
        answering(behind) as address,
        adapter_of(api, address) as direct,
        direct.session(EMPTY) as session,
    ):
        await session.ask(replace(ASKED, steps=STEPS))
    assert sent[1] == sent[2], "the same as without a server between them"


@pytest.mark.parametrize(("choice", "shaped"), [("required", "any"), ("auto", "auto"), ("none", "none")])
async def test_a_choice_of_tools_has_a_word_of_its_own_with_anthropic(choice: str, shaped: str) -> None:
    adapter = adapter_of("anthropic", "http://127.0.0.1:9")
    fields = adapter._api.fields("", {}, {"tool_choice": choice})
    assert fields["tool_choice"] == {"type": shaped}


async def test_a_reply_of_calls_alone_looks_like_openais_and_a_chat_has_nobody_to_run_them() -> None:
    async def behind(got: web.Request) -> web.Response:
        calls = [function_json(ORDER), function_json(STOCK)]
        return web.json_response({"choices": [{"message": {"content": None, "tool_calls": calls}}]})

    asked = {"messages": [{"role": "user", "content": "Q?"}]}
    async with (
        answering(behind) as address,
        running(make_app(adapter_of("chat", address), name="x")) as served,
        aiohttp.ClientSession(served) as client,
    ):
        whole = await client.post("/v1/chat/completions", json=asked)
        (choice,) = (await whole.json())["choices"]
        streamed = await client.post("/v1/chat/completions", json={**asked, "stream": True})
        events = [json.loads(line[6:]) for line in (await streamed.text()).split("\n\n")[:-2]]
        chat = await client.post("/chat", json={"question": "Q?"})
        said = await chat.json()

    calls = [function_json(ORDER), function_json(STOCK)]
    assert choice["message"] == {"role": "assistant", "content": None, "tool_calls": calls}
    assert choice["finish_reason"] == "tool_calls"
    assert [(one["choices"][0]["delta"], one["choices"][0]["finish_reason"]) for one in events] == [
        ({"role": "assistant", "tool_calls": [{"index": 0, **calls[0]}]}, None),
        ({"tool_calls": [{"index": 1, **calls[1]}]}, None),
        ({}, "tool_calls"),
    ]
    assert chat.status == 502
    assert "find_order" in said["error"]["message"]
