"""The three chat APIs side by side: their adapters, and a reply that calls two tools in each one's shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from msgspec.structs import replace

from replay import ChatReply, ChatRequest, Conversation, ToolCall
from replay_adapters.chat.anthropic import AnthropicAdapter
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.asking import EMPTY, FIRST, Sent, exchange
from tests.adapters.servers import event

APIS = ("chat", "responses", "anthropic")


def adapter_of(api: str, address: str, **more: Any) -> ChatAdapter:
    if api == "anthropic":
        return AnthropicAdapter(base_url=address, model="m", **more)
    return OpenAIAdapter(base_url=address, model="m", api=api, **more)  # type: ignore[arg-type]


async def spoken(
    api: str, answer: Any, request: ChatRequest = FIRST, *, talk: Conversation = EMPTY, **more: Any
) -> tuple[ChatReply, Sent]:
    """The reply, where the server answers with *answer* (events, if it is a tuple), and what was sent."""
    settings = {"stream": isinstance(answer, tuple)} | more
    path = "" if api == "anthropic" else "/v1"
    return await exchange(lambda address: adapter_of(api, address + path, **settings), answer, request, talk)


async def told(
    api: str, answer: Any, request: ChatRequest, *, parameters: Mapping[str, Any] | None = None, **more: Any
) -> tuple[ChatReply, web.Request, Any]:
    """The reply to *request* with *parameters*, the request that the server was sent, and its body."""
    reply, sent = await spoken(api, answer, replace(request, parameters=parameters or {}), **more)
    return reply, sent.request, sent.body


async def asked_of(
    api: str, answer: Any, request: ChatRequest = FIRST, **more: Any
) -> tuple[ChatReply, Mapping[str, Any]]:
    """The same with the body alone."""
    reply, sent = await spoken(api, answer, request, **more)
    return reply, sent.body


def named(type: str, **more: Any) -> bytes:
    """An event whose data say its type as well."""
    return event({"type": type, **more}, name=type)


def response(text: str | None, **more: Any) -> dict[str, Any]:
    """A reply of the Responses API."""
    content = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "role": "assistant", "content": content}
    output = [{"type": "reasoning", "summary": []}, message]
    return {"object": "response", "status": "completed", "output": output, **more}


RESPONSE_START = named("response.created", response={"status": "in_progress", "output": []})
MESSAGE_START = (
    named("message_start", message={"content": [], "usage": {"input_tokens": 12, "output_tokens": 1}}),
    named("content_block_start", index=0, content_block={"type": "text", "text": ""}),
)
MESSAGE_STOP = (
    named("content_block_stop", index=0),
    named("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
    named("message_stop"),
)
"""The events around those with the text, as Anthropic's API sends them."""


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
