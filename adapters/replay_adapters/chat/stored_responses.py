"""
One conversation whose history a server of Responses keeps: each question names the response that it follows.

https://platform.openai.com/docs/guides/conversation-state. A response is never changed: a question without
an answer is in nobody's history, and the next one follows the last answer.
"""

from __future__ import annotations

from itertools import takewhile

from msgspec.structs import replace

from replay import AdapterReplyError, ChatReply, ChatRequest, Conversation
from replay_adapters.chat.body import ChatBodies
from replay_adapters.chat.endpoint import ChatAdapter


class StoredSession:
    """One conversation."""

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
