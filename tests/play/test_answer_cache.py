"""What the answers of systems are kept under, and that equal questions wait for each other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from replay import (
    AdapterTimeoutError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    Message,
    Passage,
    ToolCall,
)
from replay.core.disk_cache import DiskCache
from replay.play.play import AnswerCache, Asked

TALK = Conversation(id="c", turns=())
BE_SHORT = Message(role="system", text="Be short.")
ASK = ChatRequest(
    question="Where?", history=(Exchange(question="Who?", answer="Mira."),), depth=2, parameters={"seed": 1}
)
REPLY = ChatReply(
    text="Here \ud83d.",
    tool_calls=(ToolCall(id="1", name="find", arguments="{}"),),
    steps=(Message(role="tool", text="Pier 3", tool_call_id="1"),),
    passages=(Passage(id="p", text="A pier."),),
    cost_usd=0.25,
)


class Endpoint:
    """Counts its asks, and gives what it is told to."""

    def __init__(self, *outcomes: ChatReply | AdapterTimeoutError) -> None:
        self.outcomes = list(outcomes)
        self.asked = 0

    async def __call__(self) -> Asked:
        self.asked += 1
        await asyncio.sleep(0)
        return self.outcomes[min(self.asked, len(self.outcomes)) - 1], 1, 0.5, 0.5


def kept(folder: Path, *identity: str) -> AnswerCache:
    return AnswerCache(disk=DiskCache(folder / "answers.db"), identity=identity)


async def asked(
    cache: AnswerCache, ask: Endpoint, request: ChatRequest = ASK, talk: Conversation = TALK, repeat: int = 1
) -> Asked:
    return await cache.reply(ask, talk, request, repeat, anew=False)


async def test_all_of_a_reply_comes_back_but_its_raw_form(tmp_path: Path) -> None:
    await asked(kept(tmp_path), Endpoint(msgspec.structs.replace(REPLY, raw=b"{}")))

    assert await asked(kept(tmp_path), Endpoint()) == (REPLY, 0, 0.0, 0.0)


@pytest.mark.parametrize(
    "changed",
    [
        {"question": "When?"},
        {"history": (Exchange(question="Who?", answer="Ben."),)},
        {"history": (msgspec.structs.replace(ASK.history[0], asked_with=(BE_SHORT,)),)},
        {"history": (msgspec.structs.replace(ASK.history[0], steps=REPLY.steps),)},
        {"depth": 3},
        {"asked_with": (BE_SHORT,)},
        {"steps": REPLY.steps},
        {"parameters": {"seed": 2}},
        {"repeat": 2},
        {"id": "d"},
        {"title": "Harbour"},
        {"section": "North"},
        {"background": "Boats."},
        {"passages": REPLY.passages},
        {"metadata": {"tenant": 2}},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_whatever_may_change_a_reply_is_part_of_its_key(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    cache, ask = kept(tmp_path, "s"), Endpoint(REPLY)
    await asked(cache, ask)
    of_request = {k: v for k, v in changed.items() if k in ChatRequest.__struct_fields__}
    of_talk = {k: v for k, v in changed.items() if k in Conversation.__slots__}

    for _ in range(2):
        await asked(
            cache,
            ask,
            msgspec.structs.replace(ASK, **of_request),
            replace(TALK, **of_talk),
            changed.get("repeat", 1),
        )

    assert ask.asked == 2


async def test_another_system_is_asked_itself(tmp_path: Path) -> None:
    ask = Endpoint(REPLY)
    for name in "aba":
        await asked(kept(tmp_path, name), ask)

    assert ask.asked == 2


async def test_what_a_raw_reply_is_wanted_for_is_no_other_question(tmp_path: Path) -> None:
    ask = Endpoint(REPLY)
    for keep_raw in (False, True):
        await asked(kept(tmp_path), ask, msgspec.structs.replace(ASK, keep_raw=keep_raw))

    assert ask.asked == 1


async def test_equal_questions_at_one_time_are_asked_once(tmp_path: Path) -> None:
    cache, ask = kept(tmp_path), Endpoint(REPLY)

    replies = await asyncio.gather(*(asked(cache, ask) for _ in range(5)))

    assert ask.asked == 1
    assert [reply for reply, *_ in replies] == [REPLY] * 5


async def test_after_a_failure_the_one_who_waited_asks(tmp_path: Path) -> None:
    failure = AdapterTimeoutError("too slow")
    cache, ask = kept(tmp_path), Endpoint(failure, REPLY)

    first, second = await asyncio.gather(asked(cache, ask), asked(cache, ask))

    assert (first[0], second[0]) == (failure, REPLY)


async def test_a_cancelled_ask_holds_nobody_up(tmp_path: Path) -> None:
    cache, never = kept(tmp_path), asyncio.Event()

    async def stalled() -> Asked:
        await never.wait()
        raise AssertionError

    first = asyncio.create_task(cache.reply(stalled, TALK, ASK, 1, anew=False))
    waiting = asyncio.create_task(asked(cache, Endpoint(REPLY)))
    while not first.done():
        await asyncio.sleep(0)
        first.cancel()

    assert (await waiting)[:2] == (REPLY, 1)
