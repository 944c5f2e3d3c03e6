"""
Any endpoint that answers a request with JSON, or with a stream of it, by configuration alone.

Templates say what is sent, JMESPaths say where the answer stands in the reply. The history is sent
along, or kept by the system in a session: one whose id is taken from the replies, or one named by us.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self
from uuid import uuid4

from msgspec.structs import replace

from replay import (
    AdapterError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
    template_variables,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, HttpClient, StreamEnd
from replay_adapters.http.cookies import Cookies, Extras
from replay_adapters.http.fields import FORM, HttpFields, with_query
from replay_adapters.http.oauth2 import AccessTokens, ClientCredentials
from replay_adapters.http.polling import Poll, Poller
from replay_adapters.http.reply import HttpReply
from replay_adapters.http.stream import EventPaths, Format, Join
from replay_adapters.json_reply import ReplyPath
from replay_adapters.rendering import rendered
from replay_adapters.setting_checks import check_address, check_variables, headers_from_environment

Method = Literal["GET", "POST", "PUT", "PATCH"]


@dataclass(kw_only=True)
class HttpAdapter:
    """A JSON endpoint."""

    url: str
    """Template, as in ``http://localhost:8080/chat``."""
    answer: str | None = None
    """JMESPath of the answer in the reply, as in ``reply.text``."""
    method: Method = "POST"
    params: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the query, whose texts are templates, as in ``{q: "{{question}}"}``; a list is sent as the
    field several times, and nothing (null) not at all."""
    body: Any = None
    """JSON value whose texts are templates, as in ``{question: "{{question}}"}``; None sends no body."""
    form: Mapping[str, Any] | None = None
    """Fields of a form, as for ``params``; sent in the place of a JSON body."""
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
    poll: Poll | None = None
    """The reply is that of a job, which is asked for until it is done; ``answer``, ``passages`` and
    ``session_id`` stand in its last reply."""
    oauth2: ClientCredentials | None = None
    """Where an access token is to be had, which is sent in ``Authorization``."""
    cookies: Literal["none", "session"] = "none"
    """``session``: each conversation keeps the cookies that it is given, and sends them back."""
    max_reply_bytes: int = MAX_REPLY_BYTES

    def __post_init__(self) -> None:
        if "{{" not in self.url.partition("://")[2].partition("/")[0]:
            check_address(self.url.partition("{{")[0], "url")
        for name in ("url", "params", "body", "form"):
            check_variables(getattr(self, name), name)
        for name in ("body", "form"):
            if self.method == "GET" and getattr(self, name) is not None:
                raise ValueError(f"{name}: a GET request has none; put the question into params")
        if self.body is not None and self.form is not None:
            raise ValueError("body and form are both set; a request has one of them")
        self._check_stream()
        if self.session_id is not None:
            self.history = "server"
        headers = {**self.headers, **headers_from_environment(self.headers_env)}
        if self.oauth2 and "authorization" in map(str.lower, headers):
            raise ValueError("oauth2 sends a header Authorization; leave it out of headers and headers_env")
        variables = ", ".join(self.headers_env.values()) or "headers_env"
        self._client = HttpClient(
            headers=headers,
            max_reply_bytes=self.max_reply_bytes,
            unauthorized=f"check the key it wants (set by {variables})",
        )
        self._url = TextTemplate(self.url)
        self._body = Template(self.body)
        self._params = HttpFields(self.params, "params") if self.params else None
        self._form = None if self.form is None else HttpFields(self.form, "form")
        self._answer = ReplyPath(self.answer, "answer")
        self._passages = ReplyPath(self.passages or None, "passages")
        self._session_id = ReplyPath(self.session_id or None, "session_id")
        self._poller = Poller(self.poll) if self.poll else None
        self._tokens = AccessTokens(self.oauth2) if self.oauth2 else None
        self._events = None
        if self.stream is not None and self.piece is not None:
            self._events = EventPaths(self.stream, self.piece, self.until, self.join, self.error)

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
        elif self.poll is not None:
            raise ValueError("poll and stream are both set; a job's reply comes in one piece")
        elif not self.piece:
            raise ValueError("piece is missing: the JMESPath of the text in each event of the stream")
        elif self.answer is not None:
            raise ValueError("answer is for replies in one piece; a stream has piece instead")

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        if self._tokens:
            await self._tokens.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._tokens:
            await self._tokens.__aexit__()
        await self._client.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[HttpSession]:
        # A fresh id, not the conversation's: several policies play the same conversation at a time.
        ours = uuid4().hex if self.history == "server" and self.session_id is None else None
        yield HttpSession(self, conversation, ours, Cookies() if self.cookies == "session" else None)

    async def ask(self, session: HttpSession, request: ChatRequest) -> ChatReply:
        """One question of *session*, whose id is kept; what its own ``ask`` does."""
        variables = template_variables(
            session.conversation,
            question=request.question,
            history=request.history if self.history == "client" else (),
            depth=request.depth,
            session_id=session.session_id,
        )
        url = rendered(self._url, variables)
        if self._params:
            url = with_query(url, self._params.encoded(variables))
        form = self._form.encoded(variables).encode() if self._form else None
        reply = await self._send(
            session,
            self.method,
            url,
            json_body=rendered(self._body, variables),
            body=form,
            stream=self._events.end() if self._events else None,
        )
        try:
            if self._events is not None:
                events = self._events.events(reply)
                # The session's id first: the session goes on even if this answer is of no use.
                self._keep_session_id(session, reply, events.values)
                found = self._events.answer(reply, events, self._passages)
            elif self._poller is not None:
                get = partial(self._send, session, "GET")
                reply, values = await self._poller.done(reply, url, variables, get)
                found = self._read(session, reply, values)
            else:
                found = self._read(session, reply, [reply.json()])
        except AdapterError as error:
            error.raw = reply.raw if error.raw is None else error.raw
            raise
        return replace(found, raw=reply.raw) if request.keep_raw else found

    def _read(self, session: HttpSession, reply: HttpReply, values: Sequence[Any]) -> ChatReply:
        """The answer in *reply*, the last one of those that hold *values*."""
        self._keep_session_id(session, reply, values)
        return ChatReply(
            text=self._answer.text(reply, values[-1]),
            passages=self._passages.passages(reply, values[-1]),
            times=reply.times,
        )

    async def _send(
        self,
        session: HttpSession,
        method: str,
        url: str,
        *,
        json_body: Any = None,
        body: bytes | None = None,
        stream: StreamEnd | None = None,
    ) -> HttpReply:
        """The reply to a request, with what this conversation and the system's token add to it."""
        headers = {} if body is None else FORM

        def send(token: Mapping[str, str]) -> Awaitable[HttpReply]:
            own = {**headers, **token}
            extras = Extras(headers=own, cookies=session.cookies) if own or session.cookies else None
            return self._client.request(method, url, json_body, body=body, stream=stream, extras=extras)

        return await (self._tokens.authorized(send) if self._tokens else send({}))

    def _keep_session_id(self, session: HttpSession, reply: HttpReply, values: Sequence[Any]) -> None:
        """
        Keep the id that stands in the last of *values*, which *reply* holds.

        Raises:
            AdapterReplyError: there is none yet, though there should be.
        """
        if self._session_id.expression is None:
            return
        # Usually the same each time; some systems name a new one that stands for all before it.
        found = (self._session_id.id(reply, value) for value in reversed(values))
        session.session_id = next(filter(None, found), session.session_id)
        if session.session_id is None:
            raise self._session_id.unusable(reply, "gives no session id in the session's first reply")


class HttpSession:
    """One conversation, with the id by which the system knows it."""

    def __init__(
        self,
        adapter: HttpAdapter,
        conversation: Conversation,
        session_id: str | None,
        cookies: Cookies | None,
    ) -> None:
        self._adapter = adapter
        self.conversation = conversation
        self.session_id = session_id
        self.cookies = cookies

    async def ask(self, request: ChatRequest) -> ChatReply:
        return await self._adapter.ask(self, request)
