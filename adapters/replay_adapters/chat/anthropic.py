"""
The Messages API of Anthropic, and of servers and gateways that speak it.

https://docs.anthropic.com/en/api/messages. Replies come in one piece, or streamed as server-sent events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replay_adapters.chat.anthropic_messages import Messages
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.http.client import MAX_REPLY_BYTES
from replay_adapters.setting_checks import (
    check_address,
    check_count,
    from_environment,
    headers_from_environment,
)

SETTINGS = ("model", "max_tokens", "system", "stream")
"""Fields of the body that have a setting of their own."""


@dataclass(kw_only=True)
class AnthropicAdapter(ChatAdapter):
    """A model behind a Messages endpoint."""

    model: str
    """The model's name."""
    max_tokens: int = 1024
    """The longest answer; the API wants a number."""
    base_url: str = "https://api.anthropic.com"
    """Up to and without ``/v1/messages``."""
    api_key_env: str | None = None
    """The environment variable that holds the key, as ``ANTHROPIC_API_KEY``; none for a server that wants
    no key."""
    version: str = "2023-06-01"
    """The ``anthropic-version`` header."""
    system: str | None = None
    """Template of the system text, as in ``Answer from this text: {{passage}}``, in the
    place of the recorded system prompts, which are sent without it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the body, as in ``temperature: 0``; texts in it are templates."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret: the environment variable that holds the value, or a text such as
    ``Bearer ${TOKEN}``."""
    as_recorded: bool = True
    """False for servers that know only questions and answers in turn: each question is sent as one message,
    and nothing between it and its answer."""
    stream: bool = False
    """Ask for the answer piece by piece, so that the time to its first token can be measured."""
    passages_path: str | None = None
    """JMESPath of the passages that the server says it used."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """The largest reply that is read."""

    def __post_init__(self) -> None:
        check_address(self.base_url, "base_url")
        if not self.model.strip():
            raise ValueError("model is empty; name one, as its maker's list of models has it")
        check_count("max_tokens", self.max_tokens)
        for name in SETTINGS:
            if name in self.extra:
                raise ValueError(f"extra.{name}: {name} has a setting of its own")
        if "messages" in self.extra:
            raise ValueError("extra.messages: messages is ours to send")
        headers = {
            "anthropic-version": self.version,
            **self.headers,
            **headers_from_environment(self.headers_env),
        }
        next_step = "set api_key_env to the environment variable that holds the key"
        if self.api_key_env is not None:
            headers["x-api-key"] = from_environment(self.api_key_env, "api_key_env")
            next_step = f"set the environment variable {self.api_key_env} to a key that is valid there"
        api = Messages(model=self.model, max_tokens=self.max_tokens, stream=self.stream)
        self._speak(api, headers=headers, unauthorized=next_step)
