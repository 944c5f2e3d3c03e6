"""A session with an adapter, and one question to it: what nearly all tests of adapters need."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from replay import ChatReply, ChatRequest, Conversation, Session
from replay.core.adapter import Adapter
from replay.testing import entered

EMPTY = Conversation(id="c", turns=())
FIRST = ChatRequest(question="Q?", history=(), depth=1)


@asynccontextmanager
async def session_of(adapter: Adapter, talk: Conversation = EMPTY) -> AsyncIterator[Session]:
    """A session of *adapter*, which is open as long as that is."""
    async with entered(adapter), adapter.session(talk) as session:
        yield session


async def reply_of(adapter: Adapter, request: ChatRequest = FIRST, talk: Conversation = EMPTY) -> ChatReply:
    """What *adapter* replies to *request*, the first of a session."""
    async with session_of(adapter, talk) as session:
        return await session.ask(request)
