"""A system that counts: how many sessions it has, and how many asks are under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from replay import ChatReply, ChatRequest, Conversation, HistoryKeeper, Usage


class Counting:
    """Answers with how often its sessions were opened and closed; counts who is in."""

    history: HistoryKeeper = "client"

    def __init__(self) -> None:
        self.opened = self.closed = self.inside = self.most = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[Counting]:
        self.opened += 1
        yield self
        self.closed += 1

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            if request.question == "break":
                raise ZeroDivisionError
            await self.may_answer.wait()
        finally:
            self.inside -= 1
        return ChatReply(text=str(self.opened), usage=Usage(prompt_tokens=7, completion_tokens=3))
