"""
Any endpoint that answers a request with JSON or a text, in one piece or as a stream, by configuration alone.

Templates say what is sent, JMESPaths say where the answer stands in the reply. The history is sent
along, or kept by the system in a session: one whose id is taken from the replies, one that is opened by a
request of its own, or one named by us.

A session that the system opens by a request of its own is opened with its first question, so that the
question's deadline and retries count for it; what goes wrong then has not reached the system's history.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self
from uuid import uuid4

from msgspec.structs import replace

from replay import (
    AdapterError,
    AdapterTimeoutError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    template_variables,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, Cookies, HttpClient, StreamEnd, trace_headers
from replay_adapters.http.failures import stream_error
from replay_adapters.http.oauth2 import AccessTokens, ClientCredentials
from replay_adapters.http.polling import Poll, Poller
from replay_adapters.http.reply import HttpReply, parse_errors_as_bad_reply
from replay_adapters.http.request import FORM, Request, RequestTemplate, SessionRequest, question_variables
from replay_adapters.http.stream import Content, EventPaths, Format, Join
from replay_adapters.json_reply import ReplyPath
from replay_adapters.server_times import ServerTimePaths
from replay_adapters.setting_checks import headers_from_environment, unsent_system_prompts, uses_seed

Method = Literal["GET", "POST", "PUT", "PATCH"]
CLOSED_WITHIN_S = 10.0
"""How long closing a session may take; it is the one request without a question's deadline."""


@dataclass(kw_only=True)
class HttpAdapter:
    """An endpoint."""

    url: str
    """Template, as in ``http://localhost:8080/chat``."""
    answer: str | None = None
    """JMESPath of the answer in the reply, as in ``reply.text``; in a stream that of the whole answer in an
    event, which then counts in place of the pieces."""
    method: Method = "POST"
    """How a question is sent."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the query, whose texts are templates, as in ``{q: "{{question}}"}``; a list is sent as the
    field several times, and nothing (null) not at all."""
    body: Any = None
    """JSON value whose texts are templates, as in ``{question: "{{question}}"}``; None sends no body."""
    form: Mapping[str, Any] | None = None
    """Fields of a form, as for ``params``; sent in place of a JSON body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers as they are."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret: the environment variable that holds the value, or a text such as
    ``Bearer ${TOKEN}``."""
    passages: str | None = None
    """JMESPath of the passages the system used: texts, or objects with id, text or title."""
    steps: str | None = None
    """JMESPath of the tools that the system says it called before it answered: messages of Chat Completions,
    or objects with name, arguments and perhaps result."""
    server_times: Mapping[str, str] = field(default_factory=dict)
    """Where a reply, or one of a stream's last events, says what the server took: queue, prefill, decode or
    total with its unit, as in ``{queue_ms: timing.queue, total_s: "header:X-Elapsed"}``. Left out, the places
    in which known servers say it are looked at."""
    session_id: str | None = None
    """JMESPath of the session's id, in the reply to ``open`` or else in the replies to questions. With it the
    system keeps the history."""
    open: SessionRequest | None = None
    """Opens a session before a conversation's first question. With it the system keeps the history."""
    close: SessionRequest | None = None
    """Closes the session when a conversation is over."""
    history: HistoryKeeper = "client"
    """Without ``session_id`` each session gets an id from us, for the templates to send."""
    format: Content = "json"
    """What a reply in one piece, or the data of a server-sent event, holds; a text is a JSON text to the
    paths."""
    stream: Format | None = None
    """The reply comes in pieces: as server-sent events, whose names count or don't, as lines of JSON, or as
    a text."""
    piece: str | None = None
    """JMESPath of the text in each event of a stream."""
    until: str | None = None
    """What ends a stream: the last event's data where that is a word in brackets, such as ``[DONE]``, else
    a JMESPath that is true in the last event. None where the server just ends the reply."""
    join: Join = "concatenate"
    """``last`` where each event has the whole text so far."""
    error: str | None = None
    """JMESPath of what a reply, or an event of a stream, says of an error."""
    poll: Poll | None = None
    """The reply is that of a job, which is asked for until it is done, or whose stream is read; ``answer``,
    ``passages``, ``steps`` and ``session_id`` stand in its last reply."""
    oauth2: ClientCredentials | None = None
    """Where an access token is to be had, which is sent in ``Authorization``."""
    cookies: Literal["none", "session"] = "none"
    """``session``: each conversation keeps the cookies that it is given, and sends them back."""
    reuse_connections: bool = False
    """Questions to a system that keeps the history go over used connections, too: for load over TLS, where
    a new one for each costs both sides more than the question. One that the server closes with a question on
    its way then ends that conversation."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """The largest reply that is read."""

    def __post_init__(self) -> None:
        self._check_stream()
        if self.session_id is not None or self.open is not None:
            self.history = "server"
        headers = {**self.headers, **headers_from_environment(self.headers_env)}
        if self.oauth2 and "authorization" in map(str.lower, headers):
            raise ValueError("oauth2 sends a header Authorization; leave it out of headers and headers_env")
        variables = ", ".join(self.headers_env.values()) or "headers_env"
        self._client = HttpClient(
            headers=headers,
            max_reply_bytes=self.max_reply_bytes,
            unauthorized=f"check the key it wants (set by {variables})",
            reuse_connections=self.reuse_connections,
        )
        self._tokens = AccessTokens(self.oauth2) if self.oauth2 else None
        self._question = RequestTemplate(
            method=self.method, url=self.url, params=self.params, body=self.body, form=self.form
        )
        self._open = self._beside("open", self.open, "POST")
        self._close = self._beside("close", self.close, "DELETE")
        named = ("answer", "piece", "passages", "steps", "error", "session_id")
        self._paths = {name: ReplyPath(getattr(self, name) or None, name) for name in named}
        # What is text as a whole needs no path.
        if "text" in (self.format, self.stream) and not (self.answer or self.piece):
            whole = "answer" if self.stream is None else "piece"
            self._paths[whole] = ReplyPath("@", whole)
        self._server_times = ServerTimePaths(self.server_times)
        self._events = self.stream and EventPaths(
            format=self.stream,
            content=self.format,
            piece=self._paths["piece"],
            answer=self._paths["answer"],
            until=self.until,
            join=self.join,
            error=self._paths["error"],
        )
        self._poller = Poller(self.poll, streams=self.stream is not None) if self.poll else None

    def _beside(self, name: str, request: SessionRequest | None, method: str) -> RequestTemplate | None:
        """
        Raises:
            ValueError: the *request* that is called *name* can't be made.
        """
        if request is None:
            return None
        # Between conversations there is no question, and before it is opened a session has no id of theirs.
        unknown = ["question", "history", "messages", "depth", "seed", "traceparent"]
        if name == "open" and self.session_id is not None:
            unknown.append("session_id")
        return RequestTemplate(
            method=request.method or method,
            url=request.url,
            params=request.params,
            body=request.body,
            setting=f"{name}.",
            unknown=unknown,
        )

    def _check_stream(self) -> None:
        """
        Raises:
            ValueError: settings that say how a reply comes don't go together.
        """
        of_events = ("piece", "until")
        if self.stream is None:
            if not self.answer and self.format == "json":
                raise ValueError("answer is missing: the JMESPath of the answer in the reply")
            if self.poll is not None and self.format == "text":
                raise ValueError("format: a job's replies are JSON; leave out format, or set stream: text")
            for name in of_events:
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for streams of events; set stream to one of them")
        elif self.stream == "text":
            for name in (*of_events, "error", "answer", "passages", "steps"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for streams of events; a text is all answer")
            if self.join != "concatenate":
                raise ValueError(f"join: a text comes bit by bit; {self.join} is for streams of events")
        elif self.stream == "json-lines" and self.format == "text":
            raise ValueError("format: json-lines are JSON; set stream: text for a text")
        elif not self.piece and not self.answer and (self.format == "json" or self.stream == "sse-named"):
            raise ValueError("piece is missing: the JMESPath of the text in each event of the stream")

    @property
    def unsent_system_prompts(self) -> str | None:
        return unsent_system_prompts(
            self.url, self.params, self.body, self.form, where="body, form or params"
        )

    @property
    def takes_seed(self) -> bool:
        """Return whether a template sends the seed."""
        return uses_seed(self.url, self.params, self.body, self.form)

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
        ours = str(uuid4()) if self.session_id is None else None
        cookies = Cookies() if self.cookies == "session" else None
        session = HttpSession(self, conversation, ours, cookies)
        try:
            yield session
        finally:
            await session.close()


class HttpSession:
    """One conversation, with the id by which the system knows it."""

    def __init__(
        self, system: HttpAdapter, conversation: Conversation, session_id: str | None, cookies: Cookies | None
    ) -> None:
        """*session_id* is ours, where the system doesn't give one."""
        self._system = system
        self._conversation = conversation
        self._session_id = session_id
        self._cookies = cookies
        self._is_open = False
        self._traceparent: str | None = None
        """Of the ask under way: what opens the session for it and what looks for its job belong to it."""

    async def ask(self, request: ChatRequest) -> ChatReply:
        self._traceparent = request.traceparent
        system = self._system
        if not self._is_open and system._open is not None:
            await self._open(system._open)
        variables = question_variables(self._conversation, request, system.history, self._session_id)
        sent = system._question.filled_in(variables)
        events, poller = system._events, system._poller
        reply = await self._send(
            sent, stream=events.end() if events and not poller else None, once=system.history == "server"
        )
        self._is_open = True
        try:
            with parse_errors_as_bad_reply(reply.place):
                if poller is not None:
                    get = partial(self._get, stream=events.end() if events else None)
                    reply, submitted = await poller.wait_for_answer(reply, sent.url, variables, get)
                    found = self._read(reply, submitted)
                else:
                    found = self._read(reply)
        except AdapterError as error:
            error.raw = reply.raw if error.raw is None else error.raw
            raise
        return replace(found, raw=reply.raw) if request.keep_raw else found

    def _read(self, reply: HttpReply, *before: Any) -> ChatReply:
        """Return the answer in *reply*; *before* are JSON values of replies before it."""
        system, paths = self._system, self._system._paths
        if system._events is not None:
            events = system._events.events(reply)
            # The session's id first: the session goes on even if this answer is of no use.
            self._keep_session_id(reply, [*before, *events.values])
            answer = system._events.read_answer(reply, events, paths["passages"], paths["steps"])
            assert answer.times is not None
            values, times = events.values, answer.times
            return replace(answer, times=system._server_times.add_to(reply, values, times, whole=False))
        value = reply.text() if system.format == "text" else reply.json()
        if told := paths["error"].find(reply, value):
            raise stream_error(reply, value if told is True else told)
        self._keep_session_id(reply, [*before, value])
        return ChatReply(
            text=paths["answer"].text(reply, value),
            passages=paths["passages"].passages(reply, value),
            steps=paths["steps"].steps(reply, [value]),
            times=system._server_times.add_to(reply, [value], reply.times, whole=True),
        )

    def _keep_session_id(self, reply: HttpReply, values: Sequence[Any]) -> None:
        """
        Keep the id that stands in the last of *values*, which *reply* holds.

        Raises:
            AdapterReplyError: there is none yet, though there should be.
        """
        path = self._system._paths["session_id"]
        if path.expression is None or self._system.open is not None:
            return
        # Usually the same each time; some systems name a new one that stands for all before it.
        found = (path.id(reply, value) for value in reversed(values))
        self._session_id = next(filter(None, found), self._session_id)
        if self._session_id is None:
            raise path.unusable(reply, "gives no session id in the session's first reply")

    async def _open(self, request: RequestTemplate) -> None:
        """
        Raises:
            AdapterError: there is no session. The question has not been sent then.
        """
        path = self._system._paths["session_id"]
        variables = template_variables(self._conversation, session_id=self._session_id)
        try:
            reply = await self._send(request.filled_in(variables))
            if path.expression is not None:
                with parse_errors_as_bad_reply(reply.place):
                    self._session_id = path.id(reply, reply.json())
                if self._session_id is None:
                    raise path.unusable(reply, "gives no session id")
        except AdapterError as error:
            error.reached = False
            error.args = (f"the session could not be opened: {error}",)
            raise
        self._is_open = True

    async def close(self) -> None:
        """
        Tell the system that nothing more will come; nothing where it needn't know, or knows of no session.

        Raises:
            AdapterError: it was not told, or could not do it.
        """
        request = self._system._close
        no_id = self._session_id is None and self._system.session_id is not None
        if request is None or not self._is_open or no_id:
            return
        self._is_open = False
        self._traceparent = None
        variables = template_variables(self._conversation, session_id=self._session_id)
        try:
            async with asyncio.timeout(CLOSED_WITHIN_S):
                await self._send(request.filled_in(variables))
        except TimeoutError as error:
            raise AdapterTimeoutError(
                f"the session could not be closed: no reply to {request.method} within "
                f"{CLOSED_WITHIN_S:g} s; the system's log may say why"
            ) from error
        except AdapterError as error:
            error.args = (f"the session could not be closed: {error}",)
            raise

    async def _get(self, url: str, *, stream: StreamEnd | None) -> HttpReply:
        return await self._send(Request("GET", url, None, None), stream=stream)

    async def _send(
        self, request: Request, *, stream: StreamEnd | None = None, once: bool = False
    ) -> HttpReply:
        """
        Return the reply to *request*, with what this conversation and the system's token add to it.

        *once* is for what would change a history that the system keeps.
        """
        system = self._system
        headers = {} if request.form is None else FORM

        def send(token: Mapping[str, str]) -> Awaitable[HttpReply]:
            own = {**headers, **token, **trace_headers(self._traceparent)}
            return system._client.request(
                request.method,
                request.url,
                request.json_body,
                body=request.form,
                stream=stream,
                headers=own,
                cookies=self._cookies,
                once=once,
            )

        return await (system._tokens.send_authorized(send) if system._tokens else send({}))
