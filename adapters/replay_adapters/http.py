"""
Any endpoint that answers a request with JSON, or with a stream of it, by configuration alone.

Templates say what is sent, JMESPaths say where the answer stands in the reply. The history is sent
along, or kept by the system in a session: one whose id is taken from the replies, or one named by us.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
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
from replay_adapters.http_client import MAX_REPLY_BYTES, HttpClient
from replay_adapters.http_stream import EventPaths, Format, Join
from replay_adapters.json_reply import Received, ReplyPath
from replay_adapters.sent_text import check_address, check_variables, headers_from_environment

Method = Literal["GET", "POST", "PUT", "PATCH"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAdapter:
    """A JSON endpoint."""

    url: str
    """Template, as in ``http://localhost:8080/chat``."""
    answer: str | None = None
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
    stream: Format | None = None
    """The reply comes in pieces: as server-sent events, or as lines of JSON."""
    piece: str | None = None
    """JMESPath of the text in each event of a stream, in place of ``answer``."""
    until: str | None = None
    """What ends a stream: the last event's data where that is a word in brackets, such as ``[DONE]``, else
    a JMESPath that is true in the last event. None where the server just ends the reply."""
    join: Join = "concatenate"
    """``last`` where each event has the whole text so far."""
    error: str | None = None
    """JMESPath of what an event of a stream says of an error."""
    max_reply_bytes: int = MAX_REPLY_BYTES

    _client: HttpClient = field(init=False, repr=False, compare=False)
    _url: TextTemplate = field(init=False, repr=False, compare=False)
    _body: Template = field(init=False, repr=False, compare=False)
    _answer: ReplyPath | None = field(init=False, repr=False, compare=False)
    _events: EventPaths | None = field(init=False, repr=False, compare=False)
    _passages: ReplyPath | None = field(init=False, repr=False, compare=False)
    _session_id: ReplyPath | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "{{" not in self.url.partition("://")[2].partition("/")[0]:
            check_address(self.url.partition("{{")[0], "url")
        check_variables(self.url, "url")
        check_variables(self.body, "body")
        if self.method == "GET" and self.body is not None:
            raise ValueError("body: a GET request has none; put the question into the url")
        self._check_stream()
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
        for name in ("answer", "passages", "session_id"):
            path = getattr(self, name)
            object.__setattr__(self, f"_{name}", ReplyPath(path, name) if path else None)
        events = None
        if self.stream is not None and self.piece is not None:
            events = EventPaths(self.stream, self.piece, self.until, self.join, self.error)
        object.__setattr__(self, "_events", events)

    def _check_stream(self) -> None:
        """
        Raises:
            ValueError: the settings of a stream don't go together.
        """
        if self.stream is None:
            if not self.answer:
                raise ValueError("answer is missing: the JMESPath of the answer in the reply")
            for name in ("piece", "until", "error"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for streams; set stream to sse or json-lines")
        elif not self.piece:
            raise ValueError("piece is missing: the JMESPath of the text in each event of the stream")
        elif self.answer is not None:
            raise ValueError("answer is for replies in one piece; a stream has piece instead")

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

    async def ask(self, session: HttpSession, request: ChatRequest) -> ChatReply:
        """One question of *session*, whose id is kept; what its own ``ask`` does."""
        url, body = self._rendered(session, request)
        # The session's id first: the session goes on even if this answer is of no use.
        if self._events is not None:
            events = self._events
            streamed = await self._client.stream(
                self.method, url, body, mark=events.mark, ended=events.watch()
            )
            found = events.events(streamed)
            session.session_id = self._session_id_in(streamed, found.values, session.session_id)
            return events.answer(streamed, found, self._passages)
        reply = await self._client.request(self.method, url, body)
        value = reply.json()
        session.session_id = self._session_id_in(reply, [value], session.session_id)
        return ChatReply(
            text=self._answer.text(reply, value) if self._answer else "",
            passages=self._passages.passages(reply, value) if self._passages else (),
            times=reply.times,
        )

    def _rendered(self, session: HttpSession, request: ChatRequest) -> tuple[str, Any]:
        """
        Raises:
            AdapterRefusedError: a template can't be filled in for this conversation.
        """
        variables = template_variables(
            session.conversation,
            question=request.question,
            history=request.history if self.history == "client" else (),
            depth=request.depth,
            session_id=session.session_id,
        )
        try:
            return self._url.render(variables), self._body.render(variables)
        except ValueError as error:
            raise AdapterRefusedError(f"the request can't be made: {error}", reached=False) from error

    def _session_id_in(self, reply: Received, values: Sequence[Any], known: str | None) -> str | None:
        """
        The id of the session after *reply*, which holds *values*; *known* is that before it.

        Raises:
            AdapterReplyError: there is none yet, though there should be.
        """
        if self._session_id is None:
            return known
        for value in reversed(values):
            found = self._session_id.find(reply, value)
            # Usually the same each time; some systems name a new one that stands for all before it.
            if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
                return str(found)
        if known is None:
            raise self._session_id.unusable(reply, "gives no session id in the session's first reply")
        return known


class HttpSession:
    """One conversation, with the id by which the system knows it."""

    def __init__(self, adapter: HttpAdapter, conversation: Conversation, session_id: str | None) -> None:
        self._adapter = adapter
        self.conversation = conversation
        self.session_id = session_id

    async def ask(self, request: ChatRequest) -> ChatReply:
        return await self._adapter.ask(self, request)
