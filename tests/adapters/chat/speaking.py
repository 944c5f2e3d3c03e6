"""The three chat APIs side by side: their adapters, and a reply that calls two tools in each one's shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from replay import ChatReply, ChatRequest, Conversation, ToolCall
from replay_adapters.chat.anthropic import AnthropicAdapter
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.servers import answering, streamed

TALK = Conversation(id="c", turns=())
REQUEST = ChatRequest(question="Q?", history=(), depth=1)
APIS = ("chat", "responses", "anthropic")


def adapter_of(api: str, address: str, **more: Any) -> ChatAdapter:
    if api == "anthropic":
        return AnthropicAdapter(base_url=address, model="m", **more)
    return OpenAIAdapter(base_url=address, model="m", api=api, **more)  # type: ignore[arg-type]


async def asked_of(
    api: str, answer: Any, request: ChatRequest = REQUEST, **more: Any
) -> tuple[ChatReply, Mapping[str, Any]]:
    """The reply, where the server answers with *answer* (events, if it is a tuple), and what was sent."""
    sent: list[Mapping[str, Any]] = []

    async def handler(got: web.Request) -> web.StreamResponse:
        sent.append(await got.json())
        return await streamed(got, *answer) if isinstance(answer, tuple) else web.json_response(answer)

    async with (
        answering(handler) as address,
        adapter_of(api, address, stream=isinstance(answer, tuple), **more) as adapter,
        adapter.session(TALK) as session,
    ):
        reply = await session.ask(request)
    return reply, sent[0]


ORDER = ToolCall(id="t1", name="find_order", arguments='{"order": 17}')
STOCK = ToolCall(id="t2", name="stock", arguments="{}")


def function_json(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def item_json(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def use_json(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.parsed_arguments}


TEXT_ITEM = {"type": "message", "content": [{"type": "output_text", "text": "Let me see."}]}
WHOLE = {
    "chat": {
        "choices": [
            {
                "message": {
                    "content": "Let me see.",
                    "tool_calls": [function_json(ORDER), function_json(STOCK)],
                }
            }
        ]
    },
    "responses": {"output": [TEXT_ITEM, item_json(ORDER), item_json(STOCK)], "status": "completed"},
    "anthropic": {"content": [{"type": "text", "text": "Let me see."}, use_json(ORDER), use_json(STOCK)]},
}
