"""
Chat Completions or Responses, on any server that speaks them: OpenAI, Azure, vLLM, Ollama, llama.cpp,
LiteLLM, ``replay serve``.

https://platform.openai.com/docs/api-reference. Replies come in one piece, or streamed as server-sent events.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from replay import AdapterReplyError, ChatReply, ChatRequest, Conversation, HistoryKeeper, Session
from replay_adapters.chat.body import ChatBodies
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai_chat import ChatCompletions
from replay_adapters.chat.openai_responses import Responses


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


@dataclass(kw_only=True)
class OpenAIAdapter(ChatAdapter):
    """A model behind a Chat Completions or Responses endpoint."""

    base_url: str
    """Up to ``/chat/completions`` or ``/responses``, as in ``http://localhost:8000/v1``; what stands behind
    a ``?`` stays at the end."""
    api: Literal["chat", "responses"] = "chat"
    """``chat`` posts to ``/chat/completions``, ``responses`` to ``/responses``."""
    history: HistoryKeeper = "client"
    """``server``, under ``responses``: only the question is sent, with the ``previous_response_id`` of the
    answer before it."""
    stream_usage: bool = True
    """Ask for the token counts at the end of a stream; false for servers that refuse ``stream_options``."""

    def __post_init__(self) -> None:
        for api, path in (("chat", ChatCompletions.path), ("responses", Responses.path)):
            if api != self.api and urlsplit(self.base_url).path.rstrip("/").endswith(path):
                raise ValueError(
                    f'base_url ends with "{path}", which is that of api: {api}; set that, or end it before'
                )
        if self.history == "server" and (self.api != "responses" or self.extra.get("store") is False):
            raise ValueError(
                "history: server is for api: responses with responses that are stored (store: true)"
            )
        make: type[ChatCompletions | Responses] = ChatCompletions if self.api == "chat" else Responses
        self._speak(
            make(model=self.model, stream=self.stream, stream_usage=self.stream_usage),
            settings=("model", "stream"),
            ours=("messages", "input", "instructions", "stream_options", "previous_response_id"),
            key=("Authorization", "Bearer "),
        )

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
