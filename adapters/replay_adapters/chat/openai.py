"""
Chat Completions or Responses, on any server that speaks them: OpenAI, Azure, vLLM, Ollama, llama.cpp,
LiteLLM, ``replay serve``.

https://platform.openai.com/docs/api-reference. Replies come in one piece, or streamed as server-sent events.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from replay import AdapterReplyError, ChatReply, ChatRequest, Conversation, HistoryKeeper, Session
from replay_adapters.chat.body import ChatBodies
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai_chat import ChatCompletions
from replay_adapters.chat.openai_responses import Responses
from replay_adapters.http.client import MAX_REPLY_BYTES
from replay_adapters.setting_checks import check_address, from_environment, headers_from_environment


class StoredSession:
    """
    One conversation whose history a server of Responses keeps: each question names the response it follows.

    https://platform.openai.com/docs/guides/conversation-state. A response is never changed: a question
    without an answer is in nobody's history, and the next one follows the last answer.
    """

    __slots__ = ("_adapter", "_answered", "_bodies", "_conversation", "_last")

    def __init__(self, adapter: ChatAdapter, bodies: ChatBodies, conversation: Conversation) -> None:
        self._adapter = adapter
        self._bodies = bodies
        self._conversation = conversation
        self._answered: str | None = None
        """The response with the last answer."""
        self._last: str | None = None
        """The last response, which may call tools."""

    async def ask(self, request: ChatRequest) -> ChatReply:
        reply, id = await self._adapter.send(self._body(request), request)
        if id is None:
            raise AdapterReplyError(
                "the server answered without the id of a response, so that no question can follow it; "
                "set history: client if it stores none"
            )
        self._last = id
        if not reply.tool_calls:
            self._answered = id
        return reply

    def _body(self, request: ChatRequest) -> bytes:
        # Results of tools follow the response that called them, which has all before them.
        results = [*takewhile(lambda step: step.role == "tool", reversed(request.steps))][::-1]
        follows = self._last if results else self._answered
        if follows is not None:
            parameters = {**request.parameters, "previous_response_id": follows}
            request = replace(request, parameters=parameters)
        head = self._bodies.head(self._conversation, request, own=True)
        asked = self._bodies.encoded(results)[:-1] if results else self._bodies.encoded_question(request)
        return b"%b%b]}" % (head, asked)


OURS = ("model", "messages", "input", "instructions", "stream", "stream_options", "previous_response_id")
"""Fields of the body that ``extra`` can't replace."""


@dataclass(kw_only=True)
class OpenAIAdapter(ChatAdapter):
    """A model behind a Chat Completions or Responses endpoint."""

    base_url: str
    """Up to ``/chat/completions`` or ``/responses``, as in ``http://localhost:8000/v1``; what stands behind
    a ``?`` stays at the end."""
    model: str
    """The model's name."""
    api: Literal["chat", "responses"] = "chat"
    """``chat`` posts to ``/chat/completions``, ``responses`` to ``/responses``."""
    history: HistoryKeeper = "client"
    """``server``, under ``responses``: only the question is sent, with the ``previous_response_id`` of the
    answer before it."""
    api_key_env: str | None = None
    """The environment variable that holds the key; none for a server that wants no key."""
    system: str | None = None
    """Template of the system message, as in ``Answer from this text: {{passage}}``, in the
    place of the recorded system prompts, which are sent without it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the body, as in ``temperature: 0``; texts in it are templates."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret, as in ``api-key: AZURE_KEY``: the environment variable that holds the value,
    or a text such as ``Bearer ${TOKEN}``."""
    as_recorded: bool = True
    """False for servers that know only questions and answers in turn: each question is sent as one message,
    and nothing between it and its answer."""
    stream: bool = False
    """Ask for the answer piece by piece, so that the time to its first token can be measured."""
    stream_usage: bool = True
    """Ask for the token counts at the end of a stream; false for servers that refuse ``stream_options``."""
    passages_path: str | None = None
    """JMESPath of the passages that the server says it used."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """The largest reply that is read."""

    def __post_init__(self) -> None:
        check_address(self.base_url, "base_url")
        if not self.model.strip():
            raise ValueError('model is empty; name one the server has, as its "/models" lists them')
        for api, path in (("chat", ChatCompletions.path), ("responses", Responses.path)):
            if api != self.api and urlsplit(self.base_url).path.rstrip("/").endswith(path):
                raise ValueError(
                    f'base_url ends with "{path}", which is that of api: {api}; set that, or end it before'
                )
        if self.history == "server" and (self.api != "responses" or self.extra.get("store") is False):
            raise ValueError(
                "history: server is for api: responses with responses that are stored (store: true)"
            )
        for name in OURS:
            if name in self.extra:
                what = "has a setting of its own" if name in ("model", "stream") else "is ours to send"
                raise ValueError(f"extra.{name}: {name} {what}")
        headers = {**self.headers, **headers_from_environment(self.headers_env)}
        if self.api_key_env is not None:
            headers["Authorization"] = f"Bearer {from_environment(self.api_key_env, 'api_key_env')}"
            next_step = f"set the environment variable {self.api_key_env} to a key that is valid there"
        elif self.headers_env:
            next_step = f"check the key it wants (set by {', '.join(self.headers_env.values())})"
        else:
            next_step = "set api_key_env to the environment variable that holds the key"
        make: type[ChatCompletions | Responses] = ChatCompletions if self.api == "chat" else Responses
        spoken = make(model=self.model, stream=self.stream, stream_usage=self.stream_usage)
        self._speak(spoken, headers=headers, unauthorized=next_step)

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[Session]:
        if self.history == "server":
            yield StoredSession(self, self._bodies, conversation)
            return
        async with super().session(conversation) as session:
            yield session

    @property
    def takes_seed(self) -> bool:
        """Chat Completions have a field for it; Responses refuse it."""
        return self.api == "chat"
