"""
One conversation over HTTP: its session opened, its questions asked, its session closed.

A session that the system opens by a request of its own is opened with its first question, so that the
question's deadline and retries count for it; what goes wrong then has not reached the system's history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from replay_adapters.http.client import Cookies, Extras, HttpClient, StreamEnd, trace_headers
from replay_adapters.http.failures import stream_error
from replay_adapters.http.oauth2 import AccessTokens
from replay_adapters.http.polling import Poller
from replay_adapters.http.reply import HttpReply
from replay_adapters.http.request import FORM, Request, RequestTemplate
from replay_adapters.http.stream import Content, EventPaths
from replay_adapters.json_reply import ReplyPath
from replay_adapters.rendering import question_variables
from replay_adapters.reply_errors import parse_errors_as_bad_reply
from replay_adapters.server_times import ServerTimePaths

CLOSED_WITHIN_S = 10.0
"""How long closing a session may take; it is the one request without a question's deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSystem:
    """How one system is asked, and where in its replies stands what."""

    client: HttpClient
    tokens: AccessTokens | None
    history: HistoryKeeper
    question: RequestTemplate
    open: RequestTemplate | None
    close: RequestTemplate | None
    content: Content
    answer: ReplyPath
    passages: ReplyPath
    steps: ReplyPath
    error: ReplyPath
    """In a reply in one piece; ``events`` know it for theirs."""
    session_id: ReplyPath
    """In the reply to ``open``; without ``open`` in those to questions."""
    server_times: ServerTimePaths
    events: EventPaths | None
    """Where a reply comes in pieces."""
    poller: Poller | None
    """Where a reply is that of a job."""


class HttpSession:
    """One conversation, with the id by which the system knows it."""

    def __init__(
        self, system: HttpSystem, conversation: Conversation, session_id: str | None, cookies: Cookies | None
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
        if not self._is_open and self._system.open is not None:
            await self._open(self._system.open)
        system = self._system
        variables = question_variables(self._conversation, request, system.history, self._session_id)
        sent = system.question.filled_in(variables)
        events, poller = system.events, system.poller
        reply = await self._send(
            sent, stream=events.end() if events and not poller else None, once=system.history == "server"
        )
        self._is_open = True
        try:
            with parse_errors_as_bad_reply(reply.place):
                if poller is not None:
                    get = partial(self._get, stream=events.end() if events else None)
                    reply, submitted = await poller.answered(reply, sent.url, variables, get)
                    found = self._read(reply, submitted)
                else:
                    found = self._read(reply)
        except AdapterError as error:
            error.raw = reply.raw if error.raw is None else error.raw
            raise
        return replace(found, raw=reply.raw) if request.keep_raw else found

    def _read(self, reply: HttpReply, *before: Any) -> ChatReply:
        """Return the answer in *reply*; *before* are JSON values of replies before it."""
        system = self._system
        if system.events is not None:
            events = system.events.events(reply)
            # The session's id first: the session goes on even if this answer is of no use.
            self._keep_session_id(reply, [*before, *events.values])
            answer = system.events.answer(reply, events, system.passages, system.steps)
            assert answer.times is not None
            values, times = events.values, answer.times
            return replace(answer, times=system.server_times.add_to(reply, values, times, whole=False))
        value = reply.text() if system.content == "text" else reply.json()
        if told := system.error.find(reply, value):
            raise stream_error(reply, value if told is True else told)
        self._keep_session_id(reply, [*before, value])
        return ChatReply(
            text=system.answer.text(reply, value),
            passages=system.passages.passages(reply, value),
            steps=system.steps.steps(reply, [value]),
            times=system.server_times.add_to(reply, [value], reply.times, whole=True),
        )

    def _keep_session_id(self, reply: HttpReply, values: Sequence[Any]) -> None:
        """
        Keep the id that stands in the last of *values*, which *reply* holds.

        Raises:
            AdapterReplyError: there is none yet, though there should be.
        """
        path = self._system.session_id
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
        path = self._system.session_id
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
        request = self._system.close
        no_id = self._session_id is None and self._system.session_id.expression is not None
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
            extras = Extras(headers=own, cookies=self._cookies) if own or self._cookies else None
            return system.client.request(
                request.method,
                request.url,
                request.json_body,
                body=request.form,
                stream=stream,
                extras=extras,
                once=once,
            )

        return await (system.tokens.authorized(send) if system.tokens else send({}))
