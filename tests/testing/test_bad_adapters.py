"""The contract tells the author of a bad adapter what to do."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from replay import AdapterError, ChatReply
from replay.testing import FAIL, HANG, AdapterContract, ScriptedSystem, failure
from tests.testing.checking import bad_ones, said


def harbour(request, conversation):
    if request.question in (FAIL, HANG):
        return failure("refused") if request.question == FAIL else None
    return f"{conversation.id}: {len(request.history)} before"


def adapter(ask, history="client"):
    """A scripted system that does as the contract asks, but for what *ask* makes of it."""

    class Bad(ScriptedSystem):
        @asynccontextmanager
        async def session(self, conversation):
            async with super().session(conversation) as session:
                yield Asked(lambda request: ask(self, session, request))

    return Bad(harbour, history=history)


class Asked:
    def __init__(self, ask):
        self.ask = ask


async def gives_text(system, session, request):
    return (await session.ask(request)).text


async def says_nothing(system, session, request):
    return ChatReply(text="")


async def mixes_up(system, session, request):
    reply = await session.ask(request)
    return ChatReply(text=reply.text.replace("harbour-2", "harbour-1"))


async def remembers_all(system, session, request):
    system.asked = getattr(system, "asked", -1) + 1
    return ChatReply(text=f"harbour-1: {system.asked} before")


async def swallows_the_end(system, session, request):
    try:
        return await session.ask(request)
    except asyncio.CancelledError:
        return ChatReply(text="harbour-1")


async def lets_its_library_speak(system, session, request):
    try:
        return await session.ask(request)
    except AdapterError:
        raise KeyError("answer") from None


async def never_fails(system, session, request):
    return ChatReply(text="harbour-1") if request.question == FAIL else await session.ask(request)


async def answers_at_once(system, session, request):
    return ChatReply(text="harbour-1")


@bad_ones(
    {
        "it_is_an_adapter": [(ScriptedSystem(history="mine"), "history is 'mine': set it to \"client\"")],
        "it_answers_with_a_text_and_times_that_follow_each_other": [
            (adapter(gives_text), "return a replay.ChatR"),
            (adapter(says_nothing), "conversation's id"),
        ],
        "conversations_side_by_side_do_not_mix": [(adapter(mixes_up), "in its session, not in the adapter")],
        "its_history_is_where_it_says": [
            (adapter(remembers_all, "server"), "let every session begin anew"),
            (adapter(answers_at_once), "send request.history along"),
        ],
        "a_cancelled_ask_gets_out_at_once_and_does_no_harm": [
            (adapter(swallows_the_end), "let CancelledError out"),
            (adapter(answers_at_once), "set hangs = False"),
        ],
        "a_failure_is_an_adapter_error_and_the_next_ask_works": [
            (adapter(lets_its_library_speak), "KeyError"),
            (adapter(never_fails), "set fails_with = None"),
        ],
    }
)
async def test_a_bad_adapter(test, bad, words):
    assert words in await said(AdapterContract(), test, adapter=bad)
