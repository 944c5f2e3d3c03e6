"""
The bytes that ``fast_server.py`` sends: Chat Completions, whole and as server-sent events, around answers.

All but the answer's text is made beforehand, and each text is encoded beforehand; each reply takes the next
answer. ``usage.prompt_tokens`` is filled in for each reply, in eight places (JSON allows the spaces before a
short number).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any

_MARK = "<answer>"
_PLACES = "99999999"


class Replies:
    """Replies with one after another of *answers*, again and again; streams have *chunks* words each."""

    def __init__(self, answers: Sequence[str], *, chunks: int) -> None:
        self._chunks = chunks
        self._texts = cycle([_inner(text) for text in answers])
        self._words = cycle([_inner(word) for text in answers for word in text.split()])
        self._opening, self._middle, self._end = _around(_completion(_MARK))
        self._length = len(self._opening) + len(self._middle) + 8 + len(self._end)
        self._head = _head("Content-Length: %d", "application/json")
        self.stream_head = _head("Transfer-Encoding: chunked", "text/event-stream")
        self._first = _event(_delta({"role": "assistant", "content": _MARK})).split(_MARK.encode())
        self._later = _event(_delta({"content": " " + _MARK})).split(_MARK.encode())
        self._finish = _chunked(_event(_chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])))
        before, after = _event(_chunk([], usage=_usage(chunks))).split(_PLACES.encode())
        self._last_before = b"%x\r\n" % (len(before) + 8 + len(after)) + before
        self._last_after = after + b"\r\n" + _chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"

    def whole(self, prompt_tokens: int) -> bytes:
        """The next answer in one piece."""
        text = next(self._texts)
        head = self._head % (self._length + len(text))
        return b"%b%b%b%b%8d%b" % (head, self._opening, text, self._middle, prompt_tokens, self._end)

    def deltas(self) -> Iterator[bytes]:
        """The next stream up to its finish reason, a word at a time."""
        before, after = self._first
        # All at once: other streams take words meanwhile.
        for number, word in enumerate(list(islice(self._words, self._chunks)), 1):
            delta = b"%x\r\n%b%b%b\r\n" % (len(before) + len(word) + len(after), before, word, after)
            before, after = self._later
            yield delta + self._finish if number == self._chunks else delta

    def last(self, prompt_tokens: int) -> bytes:
        """The end of a stream."""
        return b"%b%8d%b" % (self._last_before, prompt_tokens, self._last_after)


def _inner(text: str) -> bytes:
    """What stands between the quotes of *text* in JSON."""
    return json.dumps(text).encode()[1:-1]


def _around(content: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before the answer, between it and the places of ``prompt_tokens``, and after those."""
    before, _, rest = content.partition(_MARK.encode())
    middle, _, end = rest.partition(_PLACES.encode())
    return before, middle, end


def _head(length: str, content_type: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{length}\r\n\r\n".encode()


def _usage(words: int) -> dict[str, int]:
    return {"prompt_tokens": int(_PLACES), "completion_tokens": words, "total_tokens": words}


def _completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    value = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "fast",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _usage(20),
    }
    return json.dumps(value, separators=(",", ":")).encode()


def _delta(delta: dict[str, str]) -> dict[str, Any]:
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
