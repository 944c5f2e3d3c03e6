"""Which sessions a server keeps open, for how long, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay import AdapterRefusedError, Conversation, Passage
from replay.cli.serving.bodies import BadRequest, ChatQuestion
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


TEXT = (Passage(id="1", text="x" * 400),)


async def test_large_chats_are_fewer() -> None:
    """By what they are about, and by what was said in them."""
    adapter = Counting()
    chats = ChatSessions(adapter, characters=1000)
    for _ in range(5):
        async with chats.turn(replace(_new_chat(), passages=TEXT)) as chat:
            await chat.ask("Q?")
    assert (len(chats), adapter.closed) == (2, 3)
    for length, left in ((100, 3), (500, 2), (100, 3)):
        async with chats.turn(_new_chat()) as chat:
            await chat.ask("Q" * length)
        assert len(chats) == left
    await chats.close()
    assert adapter.closed == adapter.opened


async def test_idle_sessions_about_large_texts_are_fewer() -> None:
    adapter = Counting()
    idle = IdleSessions(adapter, characters=1000)
    for n in range(5):
        async with idle.borrow(Conversation(id=f"c{n}", turns=(), passages=TEXT)):
            pass
    assert (adapter.opened, adapter.closed) == (5, 3)
    await idle.close()
    assert adapter.closed == 5
