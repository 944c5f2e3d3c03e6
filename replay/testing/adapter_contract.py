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
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from replay.core.adapter import Adapter, ChatReply, ChatRequest
from replay.core.conversation import Conversation, Passage
from replay.core.errors import AdapterError
from replay.core.history import Exchange
from replay.core.settings.plugins import misfit

QUESTION = "Which harbour is it?"
HANG = "Hang, harbour!"
FAIL = "Fail, harbour!"
STUCK_S = 60.0
"""After which a test takes it that what it waits for never comes; no bound on how long a thing may take."""
LOOP_TURNS = 1000
"""So often everything else goes on before an ask is cancelled."""


def conversation(number: int = 1) -> Conversation:
    """Return a conversation that differs from others in its id and its passage."""
    id = f"harbour-{number}"
    return Conversation(id=id, turns=(), passages=(Passage(id=id, text=f"The harbour is {id}."),))


def request(question: str = QUESTION, *, before: int = 0) -> ChatRequest:
    """Return a request with *question* after *before* exchanges."""
    history = tuple(Exchange(question=f"And pier {n}?", answer=f"Pier {n}.") for n in range(1, before + 1))
    return ChatRequest(question=question, history=history, depth=before + 1)


@asynccontextmanager
async def entered(adapter: Adapter) -> AsyncIterator[Adapter]:
    """Open *adapter* around the block as a run does, if it is a context manager; yield it."""
    if isinstance(adapter, AbstractAsyncContextManager):
        async with adapter:
            yield adapter
    else:
        yield adapter


class AdapterContract:
    """Subclasses are called ``Test...`` and give a fixture ``adapter``, not yet entered."""

    hangs = True
    """The system never answers ``HANG``."""
    fails_with: str | None = "refused"
    """The outcome of asking ``FAIL``; None for a system that has no way to fail."""
    tells_history = True
    """The answers say "N before"."""

    @pytest.fixture
    def adapter(self) -> Adapter:
        raise NotImplementedError("give a fixture `adapter` that returns the adapter to be tested")

    async def asked(self) -> None:
        """Wait until the system has got ``HANG``, where a subclass can tell; else for a while."""
        for _ in range(LOOP_TURNS):
            await asyncio.sleep(0)

    def test_it_is_an_adapter(self, adapter: Adapter) -> None:
        assert not (why := misfit(adapter, Adapter)), f"this is no adapter: {why}"
        assert adapter.history in ("client", "server"), (
            f'history is {adapter.history!r}: set it to "client" where requests carry the history along, '
            'to "server" where the system keeps it'
        )

    @pytest.mark.asyncio
    async def test_it_answers_with_a_text_and_times_that_follow_each_other(self, adapter: Adapter) -> None:
        async with entered(adapter), adapter.session(conversation()) as session:
            reply = await session.ask(request())

        assert isinstance(reply, ChatReply), f"ask gave {reply!r}: return a replay.ChatReply"
        assert "harbour-1" in reply.text, (
            f'the answer is "{reply.text}": let the system behind the fixture answer with the '
            "conversation's id"
        )
        if reply.times:
            times = reply.times
            moments = [times.sent, times.first_byte, times.first_token, times.done]
            known = [moment for moment in moments if moment is not None]
            assert known == sorted(known), (
                f"sent, first byte, first token and done are {known}: read them all from "
                "time.perf_counter, or leave times out"
            )

    @pytest.mark.asyncio
    async def test_conversations_side_by_side_do_not_mix(self, adapter: Adapter) -> None:
        async def play(number: int) -> list[str]:
            async with adapter.session(conversation(number)) as session:
                asked = [request(before=0 if adapter.history == "server" else n) for n in range(3)]
                return [(await session.ask(each)).text for each in asked]

        async with entered(adapter):
            played = await asyncio.gather(*(play(number) for number in range(1, 21)))

        for number, answers in enumerate(played, 1):
            ids = [re.findall(r"harbour-\d+", answer)[:1] for answer in answers]
            assert ids == [[f"harbour-{number}"]] * 3, (
                f"conversation harbour-{number} got the answers {answers}: keep what belongs to a "
                "conversation in its session, not in the adapter"
            )

    @pytest.mark.asyncio
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
                advice = (
                    "let every session begin anew, and the system remember within it"
                    if adapter.history == "server"
                    else "send request.history along, all of it and nothing else"
                )
                assert seen == ["0", "1", "2"], (
                    f'history is "{adapter.history}", and the system saw {seen} exchanges before its '
                    f"three questions, not 0, 1 and 2: {advice}"
                )

    @pytest.mark.asyncio
    async def test_a_cancelled_ask_gets_out_at_once_and_does_no_harm(self, adapter: Adapter) -> None:
        async with entered(adapter), adapter.session(conversation()) as session:
            ask = asyncio.create_task(session.ask(request(HANG if self.hangs else QUESTION)))
            if self.hangs:
                await self.asked()
                assert not ask.done(), (
                    f"the ask ended with {ask}: let the system behind the fixture not answer HANG, or set "
                    "hangs = False"
                )
            ask.cancel()
            await asyncio.wait({ask}, timeout=STUCK_S)
            assert ask.done(), (
                f"an ask went on for {STUCK_S:g} s after it was cancelled, which is how deadlines and "
                "Ctrl-C end it: let CancelledError out, and clean up in `finally`"
            )
            assert ask.cancelled(), (
                f"a cancelled ask ended with {ask}: let CancelledError out; `except Exception` does"
            )
            async with adapter.session(conversation(2)) as another:
                assert "harbour-2" in (await another.ask(request())).text, (
                    "after a cancelled ask another conversation gets a wrong answer: an ask that is "
                    "given up must leave nothing unread behind"
                )
            if adapter.history == "client":
                assert "harbour-1" in (await session.ask(request())).text, (
                    "after a cancelled ask its session gets a wrong answer: an ask that is given up must "
                    "leave nothing unread behind"
                )

    @pytest.mark.asyncio
    async def test_a_failure_is_an_adapter_error_and_the_next_ask_works(self, adapter: Adapter) -> None:
        if self.fails_with is None:
            pytest.skip("this system has no way to fail")
        async with entered(adapter), adapter.session(conversation()) as session:
            try:
                reply = await session.ask(request(FAIL))
            except AdapterError as error:
                assert error.outcome == self.fails_with, (
                    f'the outcome of a failed ask is "{error.outcome}", not "{self.fails_with}": raise '
                    "another of replay's errors, or set fails_with"
                )
                assert str(error), "the error says nothing: say what went wrong and what to do about it"
            except Exception as error:
                raise AssertionError(
                    f"a failed ask raised {error!r}, which would end the run: turn the library's errors "
                    "into replay's (raise replay.AdapterRefusedError(...) from error)"
                ) from error
            else:
                raise AssertionError(
                    f'a failed ask answered "{reply.text}": raise one of replay\'s errors, or set fails_with '
                    "= None for a system that can't fail"
                )
            assert "harbour-1" in (await session.ask(request())).text, (
                "after a failed ask the session gives a wrong answer: begin each ask anew"
            )

    @pytest.mark.asyncio
    async def test_leaving_it_leaves_nothing_behind_and_it_can_be_entered_again(
        self, adapter: Adapter
    ) -> None:
        before = asyncio.all_tasks()
        for _ in range(2):
            async with entered(adapter), adapter.session(conversation()) as session:
                await session.ask(request())
        left = asyncio.all_tasks() - before
        if left:  # the other end of a closed connection needs a moment
            _, left = await asyncio.wait(left, timeout=STUCK_S)
        assert not left, f"these tasks go on after the adapter is closed: {left}; end them in __aexit__"
