"""What is asked by ``test_bad_fields.py``: adapters, and what their servers reply when all is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Field = tuple[str, ...]
"""What the request's address ends with, ``json``, ``header`` or ``status``, and the keys that lead on."""


class Literally(str):
    """JSON that stands in a reply as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """An adapter, and what its server replies when all is well: JSON, or the events of a stream."""

    adapter: str
    settings: Mapping[str, Any]
    """``ADDRESS`` in them is the server's."""
    replies: Mapping[str, Any]
    """By what the address of the request ends with; a list is a stream of events if ``stream`` is set."""
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stream: bool = False
    fails: bool = False
    """The good reply tells of an error."""


BASE = {"base_url": "ADDRESS", "model": "m", "passages_path": "sources"}
USAGE = {
    "prompt_tokens": 3,
    "completion_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 1},
    "cost": 0.1,
}
TOKEN = {"token": "a-0", "logprob": -0.5, "top_logprobs": [{"token": "b", "logprob": -1}]}
CHAT = {
    "choices": [
        {
            "message": {"content": "Yes.", "refusal": None, "tool_calls": [{"function": {"name": "f"}}]},
            "finish_reason": "stop",
            "logprobs": {"content": [TOKEN]},
        }
    ],
    "usage": USAGE,
    "sources": [{"id": 1, "text": "t"}, "p"],
}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Yes.", "logprobs": [TOKEN]}]}
RESPONSE = {
    "output": [MESSAGE, {"type": "function_call", "name": "f"}],
    "usage": {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}},
    "status": "completed",
    "incomplete_details": {"reason": None},
}
COUNTS = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 1,
    "cache_read_input_tokens": 1,
    "output_tokens": 2,
}
ACTIVITY = {
    "type": "message",
    "id": "b|1",
    "text": "Yes.",
    "from": {"id": "bot"},
    "replyToId": "x|1",
    "inputHint": "expectingInput",
    "attachments": [{"contentType": "x"}],
    "suggestedActions": {"actions": [{"title": "No"}]},
    "channelData": {"s": []},
}
HTTP = {"url": "ADDRESS/ask", "answer": "answer", "passages": "passages", "session_id": "session"}
ANSWER = {"answer": "Yes.", "session": "s1", "passages": [{"id": 1, "text": "t", "title": "u"}, "p"]}
OAUTH2 = {"token_url": "ADDRESS/token", "client_id_env": "BOT_ID", "client_secret_env": "BOT_SECRET"}
JOB = {"until": "done", "failed": "failed", "every_s": 0.001}

SERVICES: Mapping[str, Service] = {
    "openai": Service(adapter="openai", settings=BASE, replies={"": CHAT}),
    "openai stream": Service(
        adapter="openai",
        settings={**BASE, "stream": True},
        stream=True,
        replies={
            "": [
                {
                    "choices": [
                        {
                            "delta": {"content": "Yes", "tool_calls": [{"function": {"name": "f"}}]},
                            "logprobs": {"content": [TOKEN]},
                        }
                    ]
                },
                {"choices": [{"text": ".", "finish_reason": "stop"}], "usage": USAGE},
            ]
        },
    ),
    "openai error": Service(
        adapter="openai",
        settings={**BASE, "stream": True},
        stream=True,
        fails=True,
        replies={
            "": [{"error": {"code": "429", "status": 5, "status_code": 7, "type": "t", "message": "m"}}]
        },
    ),
    "responses": Service(adapter="openai", settings={**BASE, "api": "responses"}, replies={"": RESPONSE}),
    "responses stream": Service(
        adapter="openai",
        settings={**BASE, "api": "responses", "stream": True},
        stream=True,
        replies={
            "": [
                {"type": "response.output_text.delta", "delta": "Yes.", "logprobs": [TOKEN]},
                {"type": "response.output_item.added", "item": {"type": "function_call", "name": "f"}},
                {"type": "response.completed", "response": RESPONSE},
            ]
        },
    ),
    "anthropic": Service(
        adapter="anthropic",
        settings=BASE,
        replies={
            "": {
                "content": [{"type": "text", "text": "Yes."}, {"type": "tool_use", "name": "f"}],
                "stop_reason": "x",
                "usage": COUNTS,
            }
        },
    ),
    "anthropic stream": Service(
        adapter="anthropic",
        settings={**BASE, "stream": True},
        stream=True,
        replies={
            "": [
                {"type": "message_start", "message": {"usage": COUNTS}},
                {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "f"}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Yes."}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": COUNTS},
                {"type": "message_stop"},
            ]
        },
    ),
    "http": Service(adapter="http", settings={**HTTP, "cookies": "session"}, replies={"": ANSWER}),
    "http text": Service(
        adapter="http", settings={"url": "ADDRESS/ask", "format": "text"}, replies={"": ANSWER}
    ),
    "http functions": Service(
        adapter="http",
        settings={**HTTP, "answer": "join(' ', [to_string(ceil(number)), to_string(avg(list)), answer])"},
        replies={"": {**ANSWER, "number": 1.5, "list": [1, 2]}},
    ),
    "http stream": Service(
        adapter="http",
        settings={
            **HTTP,
            "answer": None,
            "stream": "sse",
            "piece": "answer",
            "error": "error",
            "until": "done",
        },
        stream=True,
        replies={"": [{**ANSWER, "error": None}, {"done": True}]},
    ),
    "http session": Service(
        adapter="http",
        settings={
            **HTTP,
            "session_id": "id",
            "open": {"url": "ADDRESS/open"},
            "close": {"url": "ADDRESS/{{session_id}}"},
        },
        replies={"/open": {"id": "s1"}, "": ANSWER},
    ),
    "http oauth2": Service(
        adapter="http",
        settings={**HTTP, "oauth2": OAUTH2},
        replies={
            "/token": {"access_token": "t-4711", "token_type": "Bearer", "expires_in": 3600},
            "": ANSWER,
        },
    ),
    "http job": Service(
        adapter="http",
        settings={**HTTP, "poll": JOB},
        headers={"/ask": {"Location": "/jobs/1"}},
        replies={"/ask": {"id": 1}, "": {**ANSWER, "done": True, "failed": False}},
    ),
    "http job named": Service(
        adapter="http",
        settings={**HTTP, "poll": {**JOB, "url_from": "url", "result_url": "ADDRESS/{{submitted.id}}"}},
        replies={"/ask": {"url": "/jobs/1", "id": 1}, "": {**ANSWER, "done": True, "failed": False}},
    ),
    "botframework stream": Service(
        adapter="botframework",
        settings={"base_url": "ADDRESS", "receive": "stream"},
        replies={"/conversations": {"conversationId": "c|1", "streamUrl": "ws://127.0.0.1:1/stream"}},
        fails=True,
    ),
    "rasa": Service(
        adapter="rasa",
        settings={"base_url": "ADDRESS", "buttons": True, "passages": "[].custom.sources[]"},
        replies={"": [{"text": "Yes.", "buttons": [{"title": "No"}], "custom": {"sources": ["p"]}}]},
    ),
    "botframework": Service(
        adapter="botframework",
        settings={
            "base_url": "ADDRESS",
            "secret_env": "BOT_SECRET",
            "tokens": True,
            "poll_s": 0.001,
            "quiet_s": 0.01,
            "buttons": True,
        },
        replies={
            "/tokens/generate": {"token": "t-4711", "expires_in": 3600, "conversationId": "c|1"},
            "/conversations": {"conversationId": "c|1", "token": "t", "expires_in": 3600},
            "POST /activities": {"id": "x|1"},
            "": {"activities": [ACTIVITY], "watermark": "3"},
        },
    ),
}
