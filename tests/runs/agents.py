"""An agent behind each chat API: it looks up a customer, her orders and what became of two of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.adapters.servers import answering, completion, delta, event, streamed

CALLS: Mapping[int, list[tuple[str, dict[str, Any]]]] = {
    0: [("customer", {"name": "Ann"})],
    1: [("orders", {"customer": 7})],
    2: [("status", {"order": 1}), ("status", {"order": 2})],
}
"""What it calls, by how many results it has."""
RESULTS = [
    {"name": "customer", "arguments": {"name": "Ann"}, "result": {"id": 7}},
    {"name": "orders", "arguments": {"customer": 7}, "result": [1, 2]},
    {"name": "status", "arguments": {"order": 1}, "result": "sent"},
    {"name": "status", "result": "lost"},
]
ANSWER = '{"id": 7}; [1, 2]; sent; lost'
"""What it answers then: all results, joined."""

Before = Callable[[str, int], Awaitable[None]]


class Agent:
    """The server's side of it."""

    def __init__(self, api: str = "chat", *, stream: bool = False, before: Before | None = None) -> None:
        """*before* is awaited before a question with so many results is answered."""
        self.api = api
        self.stream = stream
        self.before = before
        self.asked: list[tuple[str, int]] = []
        """The question and the number of its results, of each ask."""

    @asynccontextmanager
    async def system(self) -> AsyncIterator[dict[str, Any]]:
        """It serves, as a scenario's system."""
        async with answering(self._handle) as address:
            own: dict[str, Any] = {"base_url": f"{address}/v1", "api": self.api}
            if self.api == "anthropic":
                own = {"base_url": address}
            adapter = "anthropic" if self.api == "anthropic" else "openai"
            yield {
                "name": "agent",
                "adapter": adapter,
                "settings": {"model": "m", "stream": self.stream, **own},
            }

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        messages = body.get("messages") or body["input"]
        asked = max(n for n, one in enumerate(messages) if one.get("role") == "user" and not _results(one))
        question = messages[asked]["content"]
        question = question if isinstance(question, str) else question[0]["text"]
        results = [text for one in messages[asked + 1 :] for text in _results(one)]
        self.asked.append((question, len(results)))
        if self.before is not None:
            await self.before(question, len(results))
        said = _SAID[self.api](CALLS.get(len(results), []), "; ".join(results), self.stream)
        return await streamed(request, *said) if self.stream else web.json_response(said)


def _results(message: Mapping[str, Any]) -> list[str]:
    """Texts of the results in a message, whichever API it is of."""
    if message.get("role") == "tool":
        return [message["content"]]
    if message.get("type") == "function_call_output":
        return [message["output"]]
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    found = [part["content"] for part in parts if part.get("type") == "tool_result"]
    return [one if isinstance(one, str) else one[0]["text"] for one in found]


def _chat(calls: list[tuple[str, dict[str, Any]]], text: str, stream: bool) -> Any:
    wished = [
        {
            "index": n,
            "id": f"{name}-{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for n, (name, arguments) in enumerate(calls)
    ]
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    if not stream:
        whole = completion(None if calls else text, usage=usage)
        if calls:
            whole["choices"][0]["message"]["tool_calls"] = wished
        return whole
    piece = event({"choices": [{"delta": {"tool_calls": wished}}]}) if calls else delta(text)
    return piece, delta(None, "stop"), event({"choices": [], "usage": usage}), event("[DONE]")


def _responses(calls: list[tuple[str, dict[str, Any]]], text: str, stream: bool) -> Any:
    items = [
        {"type": "function_call", "call_id": f"{name}-{n}", "name": name, "arguments": json.dumps(arguments)}
        for n, (name, arguments) in enumerate(calls)
    ]
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    usage = {"input_tokens": 10, "output_tokens": 2}
    whole = {"output": items or [message], "status": "completed", "usage": usage}
    done = event({"type": "response.completed", "response": whole})
    if not stream or calls:
        return (done,) if stream else whole
    return event({"type": "response.output_text.delta", "delta": text}), done


def _anthropic(calls: list[tuple[str, dict[str, Any]]], text: str, stream: bool) -> Any:
    blocks: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"{name}-{n}", "name": name, "input": arguments}
        for n, (name, arguments) in enumerate(calls)
    ]
    blocks = blocks or [{"type": "text", "text": text}]
    usage = {"input_tokens": 10, "output_tokens": 2}
    if not stream:
        return {"content": blocks, "stop_reason": "end_turn", "usage": usage}
    if not calls:
        blocks = []
    return (
        event({"type": "message_start", "message": {"usage": {"input_tokens": 10}}}),
        *([] if calls else [event({"type": "content_block_delta", "index": 0, "delta": {"text": text}})]),
        *(
            event({"type": "content_block_start", "index": n, "content_block": b})
            for n, b in enumerate(blocks)
        ),
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        event({"type": "message_stop"}),
    )


_SAID = {"chat": _chat, "responses": _responses, "anthropic": _anthropic}
