"""A session with an adapter, one question to it, and what its server was sent: what nearly all tests need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from replay import ChatReply, ChatRequest, Conversation, Session
from replay.core.adapter import Adapter
from replay.testing import entered
from tests.adapters.servers import answering, streamed
from tests.waiting import PATIENCE_S

EMPTY = Conversation(id="c", turns=())
FIRST = ChatRequest(question="Q?", history=(), depth=1)


@asynccontextmanager
async def session_of(adapter: Adapter, talk: Conversation = EMPTY) -> AsyncIterator[Session]:
    """A session of *adapter*, which is open as long as that is."""
    async with entered(adapter), adapter.session(talk) as session:
        yield session


async def reply_of(adapter: Adapter, request: ChatRequest = FIRST, talk: Conversation = EMPTY) -> ChatReply:
    """What *adapter* replies to *request*, the first of a session."""
    async with asyncio.timeout(PATIENCE_S), session_of(adapter, talk) as session:
        return await session.ask(request)


@dataclass(frozen=True, slots=True)
class Sent:
    """What a server was sent."""

    request: web.Request
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


async def exchange(
    make: Callable[[str], Adapter],
    answer: Any,
    request: ChatRequest = FIRST,
    talk: Conversation = EMPTY,
    headers: Any = None,
) -> tuple[ChatReply, Sent]:
    """
    What the adapter that *make* makes of a server's address replies to *request*, and what that was sent.

    It answers with *answer*: events, if it is a tuple, or else a JSON value, with *headers*.
    """
    sent: list[Sent] = []

    async def handler(got: web.Request) -> web.StreamResponse:
        sent.append(Sent(got, await got.read()))
        if isinstance(answer, tuple):
            return await streamed(got, *answer)
        return web.json_response(answer, headers=headers)

    async with answering(handler) as address:
        return await reply_of(make(address), request, talk), sent[-1]
