"""
Any endpoint that answers a request with JSON, by configuration alone.

Templates say what is sent, JMESPaths say where the answer stands in the reply. The history is sent
along, or kept by the system in a session: one whose id is taken from the replies, or one named by us.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from uuid import uuid4

from replay import (
    AdapterRefusedError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
    template_variables,
)
from replay_adapters.http_client import MAX_REPLY_BYTES, HttpClient, HttpReply
from replay_adapters.json_reply import ReplyPath
from replay_adapters.sent_text import check_address, check_variables, headers_from_environment

Method = Literal["GET", "POST", "PUT", "PATCH"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAdapter:
    """A JSON endpoint."""

    url: str
    """Template, as in ``http://localhost:8080/chat``."""
    answer: str
    """JMESPath of the answer in the reply, as in ``reply.text``."""
    method: Method = "POST"
    body: Any = None
    """JSON value whose texts are templates, as in ``{question: "{{question}}"}``; None sends no body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret: the environment variable that holds the value, or a text such as
    ``Bearer ${TOKEN}``."""
    passages: str | None = None
    """JMESPath of the passages the system used: texts, or objects with id, text or title."""
    session_id: str | None = None
    """JMESPath of the session's id in a reply. With it the system keeps the history."""
    history: HistoryKeeper = "client"
    """``server`` without ``session_id``: each session gets an id from us, for the templates to send."""
    max_reply_bytes: int = MAX_REPLY_BYTES

    _client: HttpClient = field(init=False, repr=False, compare=False)
    _url: TextTemplate = field(init=False, repr=False, compare=False)
    _body: Template = field(init=False, repr=False, compare=False)
    _answer: ReplyPath = field(init=False, repr=False, compare=False)
    _passages: ReplyPath | None = field(init=False, repr=False, compare=False)
    _session_id: ReplyPath | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "{{" not in self.url.partition("://")[2].partition("/")[0]:
            check_address(self.url.partition("{{")[0], "url")
        check_variables(self.url, "url")
        check_variables(self.body, "body")
        if self.method == "GET" and self.body is not None:
            raise ValueError("body: a GET request has none; put the question into the url")
        if self.session_id is not None:
            object.__setattr__(self, "history", "server")
        headers = {**self.headers, **headers_from_environment(self.headers_env)}
        variables = ", ".join(self.headers_env.values()) or "headers_env"
        client = HttpClient(
            headers=headers,
            max_reply_bytes=self.max_reply_bytes,
            unauthorized=f"check the key it wants (set by {variables})",
        )
        object.__setattr__(self, "_client", client)
        object.__setattr__(self, "_url", TextTemplate(self.url))
        object.__setattr__(self, "_body", Template(self.body))
        object.__setattr__(self, "_answer", ReplyPath(self.answer, "answer"))
        for name in ("passages", "session_id"):
            path = getattr(self, name)
            object.__setattr__(self, f"_{name}", ReplyPath(path, name) if path else None)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[HttpSession]:
        # A fresh id, not the conversation's: several policies play the same conversation at a time.
        ours = uuid4().hex if self.history == "server" and self.session_id is None else None
        yield HttpSession(self, conversation, ours)

    async def exchange(
        self, conversation: Conversation, request: ChatRequest, session_id: str | None
    ) -> tuple[HttpReply, Any]:
        """Send one question of *conversation*; the reply, and the JSON value in it."""
        variables = template_variables(
            conversation,
            question=request.question,
            history=request.history if self.history == "client" else (),
            depth=request.depth,
            session_id=session_id,
        )
        try:
            url, body = self._url.render(variables), self._body.render(variables)
        except ValueError as error:
            raise AdapterRefusedError(f"the request can't be made: {error}", reached=False) from error
        reply = await self._client.request(self.method, url, body)
        return reply, reply.json()

    def session_id_in(self, reply: HttpReply, value: Any, known: str | None) -> str | None:
        """
        The id of the session after *reply*, *known* being that before it.

        Raises:
            AdapterReplyError: there is none yet, though there should be.
        """
        if self._session_id is None:
            return known
        found = self._session_id.find(reply, value)
        # Usually the same each time; some systems name a new one that stands for all before it.
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)
        if known is None:
            raise self._session_id.unusable(reply, "gives no session id in the session's first reply")
        return known

    def reply_in(self, reply: HttpReply, value: Any) -> ChatReply:
        """
        What the system answered with *reply*.

        Raises:
            AdapterReplyError: there is no usable answer in it.
        """
        return ChatReply(
            text=self._answer.text(reply, value),
            passages=self._passages.passages(reply, value) if self._passages else (),
            times=reply.times,
        )


class HttpSession:
    """One conversation, with the id by which the system knows it."""

    def __init__(self, adapter: HttpAdapter, conversation: Conversation, session_id: str | None) -> None:
        self._adapter = adapter
        self._conversation = conversation
        self._session_id = session_id

    async def ask(self, request: ChatRequest) -> ChatReply:
        adapter = self._adapter
        reply, value = await adapter.exchange(self._conversation, request, self._session_id)
        # Before the answer is looked at: the session goes on even if this answer is of no use.
        self._session_id = adapter.session_id_in(reply, value, self._session_id)
        return adapter.reply_in(reply, value)
