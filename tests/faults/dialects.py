"""What the same answer looks like to each adapter that faults are tried with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from replay import Adapter
from replay_adapters.chat.anthropic import AnthropicAdapter
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.servers import completion, delta, event

MAX_REPLY_BYTES = 8 * 1024 * 1024
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one kind of system is spoken to."""

    name: str
    """The adapter, and what is special about it here."""
    build: Callable[[str], Adapter]
    """From the address, which has a scheme and no path."""
    kind: str
    """Content type of a reply."""
    answer: Callable[[str], bytes]
    """The body of a reply with this text."""
    begun: Callable[[str], bytes]
    """The first part of such a body, as far as the text goes."""
    failed: bytes = b""
    """The body of a stream in which the system tells of an error of its own."""

    @property
    def adapter(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def streams(self) -> bool:
        return self.kind == EVENTS

    @property
    def keeps_history(self) -> bool:
        """Whether the system does."""
        return self.name == "http session"

    @property
    def next_step_of_keys(self) -> str:
        """What is to be done about a key that is refused."""
        return "check the key it wants" if self.adapter == "http" else "set api_key_env to"


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _half(answer: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """The body up to the end of the text."""

    def begun(text: str) -> bytes:
        body = answer(text)
        return body[: body.index(text.encode()) + len(text.encode())]

    return begun


def _completion(text: str) -> bytes:
    return _json(completion(text))


def _http(text: str) -> bytes:
    return _json({"reply": {"text": text}, "session": "s1"})


def _message(text: str) -> bytes:
    return _json({"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})


def _typed(value: dict[str, Any]) -> bytes:
    return event(value, value["type"])


def _message_begun(text: str) -> bytes:
    started = _typed({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 3}}})
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return started + (_typed(piece) if text else b"")


def _message_streamed(text: str) -> bytes:
    return _message_begun(text) + _typed({"type": "message_stop"})


def _delta_begun(text: str) -> bytes:
    return delta(None) + (delta(text) if text else b"")


def _delta_streamed(text: str) -> bytes:
    return _delta_begun(text) + delta(None, "stop") + event("[DONE]")


def _line_begun(text: str) -> bytes:
    return event({"n": 1}) + (event({"piece": text}) if text else b"")


def _line_streamed(text: str) -> bytes:
    return _line_begun(text) + event("[DONE]")


_REFUSED: dict[str, Any] = {"type": "server_error", "code": 500, "message": "out of memory"}
_BODY = {"question": "{{question}}", "session": "{{session_id}}"}

DIALECTS = (
    Dialect(
        name="openai",
        build=lambda url: OpenAIAdapter(base_url=f"{url}/v1", model="m", max_reply_bytes=MAX_REPLY_BYTES),
        kind=JSON,
        answer=_completion,
        begun=_half(_completion),
    ),
    Dialect(
        name="openai stream",
        build=lambda url: OpenAIAdapter(
            base_url=f"{url}/v1", model="m", stream=True, max_reply_bytes=MAX_REPLY_BYTES
        ),
        kind=EVENTS,
        answer=_delta_streamed,
        begun=_delta_begun,
        failed=event({"error": _REFUSED}),
    ),
    Dialect(
        name="http",
        build=lambda url: HttpAdapter(
            url=f"{url}/ask", answer="reply.text", body=_BODY, max_reply_bytes=MAX_REPLY_BYTES
        ),
        kind=JSON,
        answer=_http,
        begun=_half(_http),
    ),
    Dialect(
        name="http session",
        build=lambda url: HttpAdapter(
            url=f"{url}/ask",
            answer="reply.text",
            session_id="session",
            body=_BODY,
            max_reply_bytes=MAX_REPLY_BYTES,
        ),
        kind=JSON,
        answer=_http,
        begun=_half(_http),
    ),
    Dialect(
        name="http stream",
        build=lambda url: HttpAdapter(
            url=f"{url}/ask",
            body=_BODY,
            stream="sse",
            piece="piece",
            until="[DONE]",
            error="error",
            max_reply_bytes=MAX_REPLY_BYTES,
        ),
        kind=EVENTS,
        answer=_line_streamed,
        begun=_line_begun,
        failed=event({"error": _REFUSED}),
    ),
    Dialect(
        name="anthropic",
        build=lambda url: AnthropicAdapter(base_url=url, model="m", max_reply_bytes=MAX_REPLY_BYTES),
        kind=JSON,
        answer=_message,
        begun=_half(_message),
    ),
    Dialect(
        name="anthropic stream",
        build=lambda url: AnthropicAdapter(
            base_url=url, model="m", stream=True, max_reply_bytes=MAX_REPLY_BYTES
        ),
        kind=EVENTS,
        answer=_message_streamed,
        begun=_message_begun,
        failed=_typed({"type": "error", "error": {"type": "api_error", "message": "out of memory"}}),
    ),
)
"""Systems that get the whole history each time, but for ``http session``."""
