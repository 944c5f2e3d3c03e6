"""Which sessions a server keeps open, for how long, and for whom."""

from __future__ import annotations

import pytest

from replay import AdapterRefusedError, Conversation
from replay.cli.serving.request import BadRequest, ChatQuestion
from replay.cli.serving.sessions import ChatSessions, IdleSessions
from tests.counting import Counting


def _new_chat() -> ChatQuestion:
    return ChatQuestion(question="Q?", session_id=None, passages=(), conversation=None)


async def test_the_longest_unused_chats_end_when_there_are_too_many() -> None:
    adapter = Counting()
    chats = ChatSessions(adapter, limit=2)
    ids = []
    for _ in range(3):
        async with chats.turn(_new_chat()) as chat:
            await chat.ask("Q?")
            ids.append(chat.id)
    assert (len(chats), adapter.closed) == (2, 1)
    with pytest.raises(BadRequest, match="no session"):
        async with chats.turn(ChatQuestion(question="Q?", session_id=ids[0], passages=(), conversation=None)):
            pass
    await chats.close()
    assert adapter.closed == 3


async def test_a_chat_that_fails_at_once_is_forgotten() -> None:
    adapter = Counting()
    chats = ChatSessions(adapter)
    with pytest.raises(AdapterRefusedError):
        async with chats.turn(_new_chat()):
            raise AdapterRefusedError("no")
    assert (len(chats), adapter.closed) == (0, 1)


async def test_idle_sessions_are_bounded_and_lent_to_one_ask_at_a_time() -> None:
    adapter = Counting()
    idle = IdleSessions(adapter, limit=2)
    talks = [Conversation(id=f"c{n}", turns=()) for n in range(3)]
    async with idle.borrow(talks[0]), idle.borrow(talks[0]):
        assert adapter.opened == 2
    async with idle.borrow(talks[1]):
        pass
    assert (adapter.opened, adapter.closed) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        async with idle.borrow(talks[2]):
            raise ZeroDivisionError  # nobody knows what state it is in
    assert adapter.closed == 2
    await idle.close()
    assert adapter.closed == adapter.opened == 4
