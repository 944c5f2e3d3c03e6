"""What a server answers: a reply as Chat Completions have it, in one piece or as the events of a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from time import time
from typing import Any

from replay.cli.serving.request import Completion
from replay.core.adapter import ChatReply
from replay.core.message import Message, message_fields

_WORD = re.compile(r"\s*\S+(?:\s+\Z)?|\s+")
"""With the space before it, as models' tokens have it."""


def completion(name: str, number: int, asked: Completion, reply: ChatReply) -> dict[str, Any]:
    """Return *reply* in one piece; the *number*-th of the model *name*."""
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time()),
        "model": name,
        "choices": [
            {"index": 0, "message": message_fields(_message(reply)), "finish_reason": _finish(reply)}
        ],
        "usage": _usage(asked, reply),
        "passages": passages(reply),
    }


def completion_events(name: str, number: int, asked: Completion, reply: ChatReply) -> Iterator[bytes]:
    """
    Yield *reply* as server-sent events, one for each word and each call of a tool.

    The passages stand in the event with the finish reason.
    """
    base = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": int(time()),
        "model": name,
    }
    calls = message_fields(_message(reply)).get("tool_calls", [])
    pieces: list[dict[str, Any]] = [{"content": word} for word in _WORD.findall(reply.text)]
    pieces += [{"tool_calls": [{"index": index, **call}]} for index, call in enumerate(calls)]
    role = {"role": "assistant"}
    for piece in pieces or [{"content": ""}]:
        choice = {"index": 0, "delta": {**role, **piece}, "finish_reason": None}
        yield _event({**base, "choices": [choice]})
        role = {}
    last = {"index": 0, "delta": {}, "finish_reason": _finish(reply)}
    yield _event({**base, "choices": [last], "passages": passages(reply)})
    if asked.stream_usage:
        yield _event({**base, "choices": [], "usage": _usage(asked, reply)})
    yield b"data: [DONE]\n\n"


def passages(reply: ChatReply) -> list[dict[str, str]]:
    """Return the passages that the system used."""
    return [{"id": p.id, "title": p.title, "text": p.text} for p in reply.passages]


def _message(reply: ChatReply) -> Message:
    return Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)


def _finish(reply: ChatReply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _usage(asked: Completion, reply: ChatReply) -> dict[str, int]:
    if reply.usage is not None:
        prompt, completion = reply.usage.prompt_tokens or 0, reply.usage.completion_tokens or 0
    else:
        # Words between spaces, since a system without a tokenizer has no tokens to count.
        prompt, completion = asked.words, len(reply.text.split())
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
