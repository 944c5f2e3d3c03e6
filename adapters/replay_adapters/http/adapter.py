"""
Any endpoint that answers a request with JSON, or with a stream of it, by configuration alone.

Templates say what is sent, JMESPaths say where the answer stands in the reply. The history is sent
along, or kept by the system in a session: one whose id is taken from the replies, or one named by us.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar
from uuid import uuid4

from msgspec.structs import replace

from replay import (
    AdapterError,
    AdapterRefusedError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
    WireTimes,
    template_variables,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, HttpClient
from replay_adapters.http.cookies import Cookies, Extras
from replay_adapters.http.fields import FORM, HttpFields, with_query
from replay_adapters.http.oauth2 import AccessTokens, ClientCredentials
from replay_adapters.http.polling import Poll, Poller
from replay_adapters.http.reply import HttpReply, StreamedReply
from replay_adapters.http.stream import EventPaths, Format, Join
from replay_adapters.json_reply import Received, ReplyPath
from replay_adapters.setting_checks import check_address, check_variables, headers_from_environment

T = TypeVar("T")

Method = Literal["GET", "POST", "PUT", "PATCH"]


@dataclass(frozen=True, slots=True, kw_only=True)
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

    _client: HttpClient = field(init=False, repr=False, compare=False)
    _url: TextTemplate = field(init=False, repr=False, compare=False)
    _body: Template = field(init=False, repr=False, compare=False)
    _answer: ReplyPath | None = field(init=False, repr=False, compare=False)
    _events: EventPaths | None = field(init=False, repr=False, compare=False)
    _passages: ReplyPath | None = field(init=False, repr=False, compare=False)
    _session_id: ReplyPath | None = field(init=False, repr=False, compare=False)
    _params: HttpFields | None = field(init=False, repr=False, compare=False)
    _form: HttpFields | None = field(init=False, repr=False, compare=False)
    _poller: Poller | None = field(init=False, repr=False, compare=False)
    _tokens: AccessTokens | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "{{" not in self.url.partition("://")[2].partition("/")[0]:
            check_address(self.url.partition("{{")[0], "url")
        check_variables(self.url, "url")
        for name in ("params", "body", "form"):
            check_variables(getattr(self, name), name)
        for name in ("body", "form"):
            if self.method == "GET" and getattr(self, name) is not None:
                raise ValueError(f"{name}: a GET request has none; put the question into params")
        if self.body is not None and self.form is not None:
            raise ValueError("body and form are both set; a request has one of them")
        self._check_stream()
        if self.session_id is not None:
            object.__setattr__(self, "history", "server")
        headers = {**self.headers, **headers_from_environment(self.headers_env)}
        if self.oauth2 and "authorization" in map(str.lower, headers):
            raise ValueError("oauth2 sends a header Authorization; leave it out of headers and headers_env")
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
        object.__setattr__(self, "_params", HttpFields(self.params, "params") if self.params else None)
        form = None if self.form is None else HttpFields(self.form, "form")
        object.__setattr__(self, "_form", form)
        object.__setattr__(self, "_poller", Poller(self.poll) if self.poll else None)
        object.__setattr__(self, "_tokens", AccessTokens(self.oauth2) if self.oauth2 else None)
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
        variables = self._variables(session, request)
        url, json_body, form = self._rendered(variables)
        reply: HttpReply | StreamedReply
        if self._events is not None:
            events = self._events
            reply = streamed = await self._sent(
                session,
                lambda extras: self._client.stream(
                    *(self.method, url, json_body),
                    body=form,
                    mark=events.mark,
                    ended=events.watch(),
                    extras=extras,
                ),
                form,
            )
        else:
            reply = whole = await self._sent(
                session,
                lambda extras: self._client.request(self.method, url, json_body, body=form, extras=extras),
                form,
            )
        try:
            if self._events is not None:
                found = self._read_stream(session, streamed)
            elif self._poller is not None:
                polled = await self._poller.done(
                    *(whole, url, variables),
                    lambda at: self._sent(session, lambda e: self._client.request("GET", at, extras=e)),
                )
                reply = polled.reply
                found = self._read(session, reply, [polled.submitted, polled.value], polled.times)
            else:
                found = self._read(session, whole, [whole.json()], whole.times)
        except AdapterError as error:
            error.raw = reply.raw if error.raw is None else error.raw
            raise
        return replace(found, raw=reply.raw) if request.keep_raw else found

    def _read_stream(self, session: HttpSession, reply: StreamedReply) -> ChatReply:
        assert self._events is not None
        found = self._events.events(reply)
        # The session's id first: the session goes on even if this answer is of no use.
        session.session_id = self._session_id_in(reply, found.values, session.session_id)
        return self._events.answer(reply, found, self._passages)

    def _read(
        self, session: HttpSession, reply: HttpReply, values: Sequence[Any], times: WireTimes
    ) -> ChatReply:
        """The answer in *reply*, the last one of those that hold *values*."""
        session.session_id = self._session_id_in(reply, values, session.session_id)
        value = values[-1]
        return ChatReply(
            text=self._answer.text(reply, value) if self._answer else "",
            passages=self._passages.passages(reply, value) if self._passages else (),
            times=times,
        )

    async def _sent(
        self, session: HttpSession, send: Callable[[Extras | None], Awaitable[T]], form: bytes | None = None
    ) -> T:
        """What *send* gives, with what this conversation and the system's token add to a request."""
        headers = FORM if form is not None else {}
        if self._tokens is not None:
            return await self._tokens.authorized(
                lambda token: send(Extras(headers={**headers, **token}, cookies=session.cookies))
            )
        if headers or session.cookies:
            return await send(Extras(headers=headers, cookies=session.cookies))
        return await send(None)

    def _variables(self, session: HttpSession, request: ChatRequest) -> Mapping[str, Any]:
        return template_variables(
            session.conversation,
            question=request.question,
            history=request.history if self.history == "client" else (),
            depth=request.depth,
            session_id=session.session_id,
        )

    def _rendered(self, variables: Mapping[str, Any]) -> tuple[str, Any, bytes | None]:
        """
        Address, JSON body and encoded form.

        Raises:
            AdapterRefusedError: a template can't be filled in for this conversation.
        """
        try:
            url = self._url.render(variables)
            if self._params:
                url = with_query(url, self._params.encoded(variables))
            form = self._form.encoded(variables).encode() if self._form else None
            return url, self._body.render(variables), form
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
