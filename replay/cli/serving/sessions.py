"""The sessions a server holds open: idle ones to be used again, and chats whose history it keeps."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from replay.cli.serving.bodies import BadRequest, ChatQuestion
from replay.core.adapter import Adapter, ChatReply, ChatRequest, Session
from replay.core.asking.retries import open_session, usable_reply
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError
from replay.core.history import Exchange

IDLE_SESSIONS = 256
CHATS = 10_000
CHARACTERS = 64 * 1024 * 1024
"""Of the texts that either kind of session is about, and what was said in it; the adapter may keep several
times as much."""


@dataclass(slots=True)
class _Open:
    """A session and the way to close it."""

    session: Session
    close: Callable[[], Awaitable[None]]
    size: int
    """Characters of its passages."""


async def _open(adapter: Adapter, conversation: Conversation) -> _Open:
    stack = AsyncExitStack()
    session = await stack.enter_async_context(open_session(adapter, conversation))
    return _Open(session, stack.aclose, sum(len(passage.text) for passage in conversation.passages))


class IdleSessions:
    """
    Sessions of an adapter whose caller sends the history, by the text they are about.

    Opening one may cost (the extractive system splits its passages), and the same text comes back at
    every turn. A session is lent to one ask at a time; the longest unused ones are closed.
    """

    def __init__(self, adapter: Adapter, limit: int = IDLE_SESSIONS, characters: int = CHARACTERS) -> None:
        self._adapter = adapter
        self._limit = limit
        self._characters = characters
        self._idle: OrderedDict[Hashable, list[_Open]] = OrderedDict()
        self._count = self._size = 0

    @asynccontextmanager
    async def borrow(self, conversation: Conversation) -> AsyncIterator[Session]:
        key = (conversation.id, conversation.passages)
        opened = self._take(key, -1) if key in self._idle else await _open(self._adapter, conversation)
        try:
            yield opened.session
        except AdapterError:
            await self._put_back(key, opened)  # a session may be asked again after that
            raise
        except BaseException:
            await opened.close()  # after half an ask nobody knows what state it is in
            raise
        await self._put_back(key, opened)

    def _take(self, key: Hashable, position: int) -> _Open:
        waiting = self._idle[key]
        opened = waiting.pop(position)
        self._count -= 1
        self._size -= opened.size
        if not waiting:
            del self._idle[key]
        return opened

    async def _put_back(self, key: Hashable, opened: _Open) -> None:
        self._idle.setdefault(key, []).append(opened)
        self._idle.move_to_end(key)
        self._count += 1
        self._size += opened.size
        await self._shrink(self._limit)

    async def _shrink(self, limit: int) -> None:
        while self._count > limit or self._size > self._characters:
            await self._take(next(iter(self._idle)), 0).close()

    async def close(self) -> None:
        await self._shrink(0)


@dataclass(slots=True)
class Chat:
    """A conversation whose history the server keeps."""

    id: str
    opened: _Open
    accepts_history: bool
    history: tuple[Exchange, ...] = ()
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    """Asks under way or waiting; a chat in use is not closed."""
    said: int = 0
    """Characters of its history."""

    @property
    def size(self) -> int:
        return self.opened.size + self.said

    async def ask(self, question: str) -> ChatReply:
        """Return the answer, which is remembered."""
        shown = self.history if self.accepts_history else ()
        request = ChatRequest(question=question, history=shown, depth=len(self.history) + 1)
        reply = usable_reply(await self.opened.session.ask(request), request)
        self.history = (*self.history, Exchange(question=question, answer=reply.text))
        self.said += len(question) + len(reply.text)
        return reply


class ChatSessions:
    """Chats by their id; the longest unused ones end when there are too many."""

    def __init__(self, adapter: Adapter, limit: int = CHATS, characters: int = CHARACTERS) -> None:
        self._adapter = adapter
        self._limit = limit
        self._characters = characters
        self._size = 0
        self._chats: OrderedDict[str, Chat] = OrderedDict()

    def __len__(self) -> int:
        return len(self._chats)

    @asynccontextmanager
    async def turn(self, asked: ChatQuestion) -> AsyncIterator[Chat]:
        """
        Yield the chat that *asked* belongs to, a new one if it names none; its turns go one by one.

        Raises:
            BadRequest: there is no such chat, or no more.
        """
        chat = await self._begin(asked) if asked.session_id is None else self._find_chat(asked.session_id)
        chat.users += 1
        try:
            async with chat.turn:
                before = chat.said
                try:
                    yield chat
                finally:
                    self._size += chat.said - before
        finally:
            chat.users -= 1
            if asked.session_id is None and not chat.history:
                await self._end(chat)  # it failed at once, so nobody was told its id
            await self._shrink()

    async def close(self) -> None:
        while self._chats:
            await self._chats.popitem(last=False)[1].opened.close()

    def _find_chat(self, id: str) -> Chat:
        chat = self._chats.get(id)
        if chat is None:
            raise BadRequest(
                f"there is no session {id!r}, or no more; leave session_id out for a new one", 404
            )
        self._chats.move_to_end(id)
        return chat

    async def _begin(self, asked: ChatQuestion) -> Chat:
        id = uuid4().hex
        conversation = Conversation(id=asked.conversation or id, turns=(), passages=asked.passages)
        opened = await _open(self._adapter, conversation)
        chat = Chat(id=id, opened=opened, accepts_history=self._adapter.history == "client")
        self._chats[id] = chat
        self._size += chat.size
        return chat

    async def _shrink(self) -> None:
        if len(self._chats) > self._limit or self._size > self._characters:
            for chat in [chat for chat in self._chats.values() if not chat.users]:
                if len(self._chats) <= self._limit and self._size <= self._characters:
                    break
                await self._end(chat)

    async def _end(self, chat: Chat) -> None:
        if self._chats.pop(chat.id, None) is not None:
            self._size -= chat.size
            await chat.opened.close()
