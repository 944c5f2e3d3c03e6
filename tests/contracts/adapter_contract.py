"""
What every adapter must keep, as tests: subclass, give the fixture ``adapter``, and they run.

The system behind that fixture does as the questions say:

- ``HANG``: it doesn't answer (where ``hangs``), ``FAIL``: it fails with the outcome ``fails_with``;
- to anything else it answers with a text that holds the conversation's id, which is also in its only
  passage, and, where ``tells_history``, the words "N before" for N exchanges before this one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from replay import Adapter, AdapterError, ChatReply, ChatRequest, Conversation, Exchange, Passage

QUESTION = "Which harbour is it?"
HANG = "Hang, harbour!"
FAIL = "Fail, harbour!"
PROMPT_S = 2.0
"""Far more than getting out of an ask takes, far less than waiting for what never comes."""


def conversation(number: int = 1) -> Conversation:
    """A conversation that can be told from others by its id and its passage."""
    id = f"harbour-{number}"
    return Conversation(id=id, turns=(), passages=(Passage(id=id, text=f"The harbour is {id}."),))


def request(question: str = QUESTION, *, before: int = 0) -> ChatRequest:
    """*question* after so many exchanges."""
    history = tuple(Exchange(question=f"And pier {n}?", answer=f"Pier {n}.") for n in range(1, before + 1))
    return ChatRequest(question=question, history=history, depth=before + 1)


@asynccontextmanager
async def entered(adapter: Adapter) -> AsyncIterator[Adapter]:
    """*adapter* as a run uses it."""
    if hasattr(adapter, "__aenter__"):
        async with adapter:
            yield adapter
    else:
        yield adapter


class AdapterContract:
    """Subclasses are called ``Test...`` and give a fixture ``adapter``, not yet entered."""

    hangs = True
    fails_with: str | None = "refused"
    tells_history = True

    async def test_it_is_an_adapter(self, adapter: Adapter) -> None:
        assert isinstance(adapter, Adapter)
        assert adapter.history in ("client", "server")

    async def test_it_answers_with_a_text_and_times_that_follow_each_other(self, adapter: Adapter) -> None:
        async with entered(adapter), adapter.session(conversation()) as session:
            reply = await session.ask(request())

        assert isinstance(reply, ChatReply)
        assert "harbour-1" in reply.text
        if reply.times:
            times = reply.times
            moments = [times.sent, times.first_byte, times.first_token, times.done]
            known = [moment for moment in moments if moment is not None]
            assert known == sorted(known)

    async def test_conversations_side_by_side_do_not_mix(self, adapter: Adapter) -> None:
        async def play(number: int) -> list[str]:
            async with adapter.session(conversation(number)) as session:
                asked = [request(before=0 if adapter.history == "server" else n) for n in range(3)]
                return [(await session.ask(each)).text for each in asked]

        async with entered(adapter):
            played = await asyncio.gather(*(play(number) for number in range(1, 21)))

        for number, answers in enumerate(played, 1):
            assert [re.findall(r"harbour-\d+", answer)[:1] for answer in answers] == [
                [f"harbour-{number}"]
            ] * 3

    async def test_its_history_is_where_it_says(self, adapter: Adapter) -> None:
        if not self.tells_history:
            pytest.skip("this system doesn't tell what it saw")
        async with entered(adapter):
            for _ in range(2):  # the second session must see nothing of the first
                seen = []
                async with adapter.session(conversation()) as session:
                    for before in range(3):
                        sent = 0 if adapter.history == "server" else before
                        reply = await session.ask(request(before=sent))
                        seen += re.findall(r"(\d+) before", reply.text)
                assert seen == ["0", "1", "2"]

    async def test_a_cancelled_ask_gets_out_at_once_and_does_no_harm(self, adapter: Adapter) -> None:
        async with entered(adapter), adapter.session(conversation()) as session:
            ask = asyncio.create_task(session.ask(request(HANG if self.hangs else QUESTION)))
            if self.hangs:
                await asyncio.sleep(0.01)
                assert not ask.done()
            ask.cancel()
            async with asyncio.timeout(PROMPT_S):
                with pytest.raises(asyncio.CancelledError):
                    await ask
                async with adapter.session(conversation(2)) as another:
                    assert "harbour-2" in (await another.ask(request())).text
                if adapter.history == "client":
                    assert "harbour-1" in (await session.ask(request())).text

    async def test_a_failure_is_an_adapter_error_and_the_next_ask_works(self, adapter: Adapter) -> None:
        if self.fails_with is None:
            pytest.skip("this system has no way to fail")
        async with entered(adapter), adapter.session(conversation()) as session:
            with pytest.raises(AdapterError) as caught:
                await session.ask(request(FAIL))
            assert caught.value.outcome == self.fails_with
            assert str(caught.value)
            assert "harbour-1" in (await session.ask(request())).text

    async def test_leaving_it_leaves_nothing_behind_and_it_can_be_entered_again(
        self, adapter: Adapter
    ) -> None:
        before = asyncio.all_tasks()
        for _ in range(2):
            async with entered(adapter), adapter.session(conversation()) as session:
                await session.ask(request())
        left = asyncio.all_tasks() - before
        if left:  # the other end of a closed connection needs a moment
            _, pending = await asyncio.wait(left, timeout=PROMPT_S)
            assert not pending
