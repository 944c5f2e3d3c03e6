"""
Any endpoint that answers a request with JSON or a text, in one piece or as a stream, by configuration alone.

Templates say what is sent, JMESPaths say where the answer stands in the reply. The history is sent
along, or kept by the system in a session: one whose id is taken from the replies, one that is opened by a
request of its own, or one named by us.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from uuid import uuid4

from replay import Conversation, HistoryKeeper
from replay_adapters.http.client import MAX_REPLY_BYTES, Cookies, HttpClient
from replay_adapters.http.oauth2 import AccessTokens, ClientCredentials
from replay_adapters.http.polling import Poll, Poller
from replay_adapters.http.request import RequestTemplate, SessionRequest
from replay_adapters.http.session import HttpSession, HttpSystem
from replay_adapters.http.stream import Content, EventPaths, Format, Join
from replay_adapters.json_reply import ReplyPath
from replay_adapters.server_times import ServerTimePaths
from replay_adapters.setting_checks import headers_from_environment, unsent_system_prompts, uses_seed

Method = Literal["GET", "POST", "PUT", "PATCH"]


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
        # What is text as a whole needs no path.
        whole = "@" if self.format == "text" or self.stream == "text" else None
        events = self.stream and EventPaths(
            self.stream,
            content=self.format,
            piece=self.piece or (None if self.answer else whole),
            answer=self.answer,
            until=self.until,
            join=self.join,
            error=self.error,
        )
        self._system = HttpSystem(
            client=self._client,
            tokens=self._tokens,
            history=self.history,
            question=RequestTemplate(
                method=self.method, url=self.url, params=self.params, body=self.body, form=self.form
            ),
            open=self._beside("open", self.open, "POST"),
            close=self._beside("close", self.close, "DELETE"),
            content=self.format,
            answer=ReplyPath(self.answer or whole, "answer"),
            passages=ReplyPath(self.passages or None, "passages"),
            steps=ReplyPath(self.steps or None, "steps"),
            error=ReplyPath(self.error or None, "error"),
            session_id=ReplyPath(self.session_id or None, "session_id"),
            server_times=ServerTimePaths(self.server_times),
            events=events or None,
            poller=Poller(self.poll, streams=self.stream is not None) if self.poll else None,
        )

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
        session = HttpSession(self._system, conversation, ours, cookies)
        try:
            yield session
        finally:
            await session.close()
