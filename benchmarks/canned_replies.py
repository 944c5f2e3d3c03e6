"""
The bytes that ``fast_server.py`` sends: Chat Completions, whole and as server-sent events, made beforehand.

Only ``usage.prompt_tokens`` is filled in for each reply, in eight places (JSON allows the spaces before a
short number), so that its length is known.
"""

from __future__ import annotations

import json
from typing import Any

_TEXT = "the city lies on a river and its old bridge was built by masons who came from the hills"


class Replies:
    """All that is ever sent, made beforehand."""

    def __init__(self, *, answer_words: int, chunks: int) -> None:
        text = _TEXT.split()
        words = [text[i % len(text)] for i in range(max(answer_words, chunks))]
        before, after = _split(_completion(" ".join(words[:answer_words]), answer_words))
        length = len(before) + 8 + len(after)
        self.before = _head(f"Content-Length: {length}", "application/json") + before
        self.after = after
        self.stream_head = _head("Transfer-Encoding: chunked", "text/event-stream")
        self.deltas = [_chunked(_event(_delta(i, word))) for i, word in enumerate(words[:chunks])]
        self.deltas[-1] += _chunked(_event(_chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])))
        before, after = _split(_event(_chunk([], usage=_usage(chunks))))
        size = b"%x\r\n" % (len(before) + 8 + len(after))
        self.last_before = size + before
        self.last_after = after + b"\r\n" + _chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"

    def whole(self, prompt_tokens: int) -> bytes:
        return b"%b%8d%b" % (self.before, prompt_tokens, self.after)

    def last(self, prompt_tokens: int) -> bytes:
        """The end of a stream."""
        return b"%b%8d%b" % (self.last_before, prompt_tokens, self.last_after)


def _head(length: str, content_type: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{length}\r\n\r\n".encode()


def _usage(words: int) -> dict[str, int]:
    return {"prompt_tokens": 99999999, "completion_tokens": words, "total_tokens": words}


def _split(content: bytes) -> tuple[bytes, bytes]:
    """What stands before and after the eight places of ``prompt_tokens``."""
    before, _, after = content.partition(b"99999999")
    return before, after


def _completion(text: str, words: int) -> bytes:
    message = {"role": "assistant", "content": text}
    value = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "fast",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _usage(words),
    }
    return json.dumps(value, separators=(",", ":")).encode()


def _delta(index: int, word: str) -> dict[str, Any]:
    delta = {"role": "assistant", "content": word} if index == 0 else {"content": f" {word}"}
    return _chunk([{"index": 0, "delta": delta, "finish_reason": None}])


def _chunk(choices: list[Any], **more: Any) -> dict[str, Any]:
    kind = "chat.completion.chunk"
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1700000000,
        "model": "fast",
        "choices": choices,
        **more,
    }


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def _chunked(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)
