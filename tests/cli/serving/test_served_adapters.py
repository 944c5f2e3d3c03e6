"""A served adapter asked by another one: the answers, and the failures, are the same as without the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from replay import (
    CANNOT_ANSWER,
    Adapter,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    ChatRequest,
    Conversation,
    Exchange,
    Passage,
)
from replay.cli.serving.server import make_app
from replay.testing import ScriptedSystem, entered, failure
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.local.extractive import ExtractiveAdapter
from replay_adapters.local.scripted import ScriptedAdapter, ScriptedFault
from tests.adapters.servers import running
from tests.data_tables import from_table

TALK = Conversation(
    id="c",
    turns=(),
    passages=(
        Passage(id="life", text="Mira Okafor was born in Port Ellis. She recorded Stone Garden in 1987."),
        Passage(id="town", text="Port Ellis is a town on the coast.\n\nIts glass harbour opened in 1952."),
        Passage(
            id="tour", text="Okafor toured with a quartet. The tour ended in Lisbon. Critics praised it."
        ),
    ),
)
QUESTIONS = [
    "Where was Okafor born?",
    "What is it known for?",
    "When did it open?",
    "Did she tour?",
    "Where did that end?",
    "What do penguins eat?",
]


async def _play(
    adapter: Adapter, talk: Conversation = TALK, questions: Sequence[str] = QUESTIONS
) -> list[str]:
    """Answers to *questions* with the system's own history behind each."""
    history: list[Exchange] = []
    async with adapter.session(talk) as session:
        for depth, question in enumerate(questions, 1):
            shown = tuple(history) if adapter.history == "client" else ()
            reply = await session.ask(ChatRequest(question=question, history=shown, depth=depth))
            history.append(Exchange(question=question, answer=reply.text))
    return [exchange.answer for exchange in history]


def _openai(address: str, **settings: Any) -> OpenAIAdapter:
    return OpenAIAdapter(base_url=f"{address}/v1", model="x", **({"system": "{{passage}}"} | settings))


def _http(address: str, **body: Any) -> HttpAdapter:
    return HttpAdapter(
        url=f"{address}/chat",
        answer="answer",
        session_id="session_id",
        passages="passages",
        body={"question": "{{question}}", "session_id": "{{session_id}}", "passages": "{{passages}}"} | body,
    )


async def test_answers_are_the_same_directly_and_through_either_endpoint() -> None:
    direct = await _play(ExtractiveAdapter())
    async with (
        running(make_app(ExtractiveAdapter(), name="x")) as address,
        entered(_openai(address)) as openai,
        entered(_openai(address, stream=True)) as streaming,
        entered(_http(address)) as http,
    ):
        served = [await _play(openai), await _play(streaming), await _play(http)]
        together = await asyncio.gather(*(_play(adapter) for adapter in [openai, streaming, http] * 10))

    assert len({answer for answer in direct if answer != CANNOT_ANSWER}) >= 4
    assert served == [direct] * 3
    assert together == [direct] * 30


async def test_a_streamed_reply_is_the_same_in_everything_but_its_times() -> None:
    request = ChatRequest(question="When did the harbour open?", history=(), depth=1)
    replies = []
    async with running(make_app(ExtractiveAdapter(), name="x", chunk_delay_s=0.001)) as address:
        for stream in (False, True):
            adapter = _openai(address, passages_path="passages", stream=stream)
            async with entered(adapter), adapter.session(TALK) as session:
                replies.append(await session.ask(request))

    whole, streamed = replies
    assert replace(streamed, times=whole.times) == whole
    assert streamed.usage is not None
    assert streamed.times is not None
    assert len(streamed.times.token_gaps_100us) == len(streamed.text.split()) - 1
    assert min(streamed.times.token_gaps_100us) >= 0


async def test_a_system_that_keeps_the_history_is_served_by_chat_alone() -> None:
    async with (
        running(make_app(ExtractiveAdapter(history="server"), name="x")) as address,
        entered(_openai(address)) as openai,
        entered(_http(address)) as http,
    ):
        assert await _play(http) == await _play(ExtractiveAdapter())
        with pytest.raises(AdapterRefusedError, match="keeps the history itself; use POST /chat"):
            await _play(openai)


async def test_a_script_is_served_by_conversation_through_either_endpoint() -> None:
    answers = {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    questions = ["One?", "Two?"]
    talks = [Conversation(id=id, turns=()) for id in ("a", "b")]
    async with (
        running(make_app(ScriptedAdapter(answers=answers), name="x")) as address,
        entered(_openai(address, extra={"metadata": {"conversation": "{{conversation.id}}"}})) as openai,
        entered(_http(address, conversation="{{conversation.id}}")) as http,
    ):
        for adapter in (openai, http):
            played = await asyncio.gather(*(_play(adapter, talk, questions) for talk in talks))
            assert played == [["a1", "a2"], ["b1", "b2"]]


async def test_the_history_is_the_callers_or_the_servers_but_never_both() -> None:
    script = ScriptedSystem("1", "2", "3")
    async with (
        running(make_app(script, name="x")) as address,
        entered(_openai(address)) as openai,
        entered(_http(address)) as http,
    ):
        for adapter in (openai, http):
            await _play(adapter, questions=["A?", "B?"])

    by_caller, by_server = script.requests[:2], script.requests[2:]
    assert by_caller == [replace(request, runs_tools=True) for request in by_server]
    assert by_server[1].history == (Exchange(question="A?", answer="1"),)


@from_table
async def test_a_failure_of_the_system_is_one_of_the_server(
    fault: dict[str, Any], outcome: str, status: int
) -> None:
    script = ScriptedAdapter(faults=[ScriptedFault(**fault)])
    async with (
        running(make_app(script, name="x")) as address,
        entered(_openai(address)) as openai,
        entered(_http(address)) as http,
    ):
        for adapter in (openai, http):
            with pytest.raises(AdapterError) as caught:
                await _play(adapter)
            assert (caught.value.outcome, caught.value.status) == (outcome, status)
            if isinstance(caught.value, AdapterRateLimitedError):
                assert caught.value.retry_after_s == 2.0  # whole seconds, rounded up


async def test_a_failed_turn_is_not_in_the_history_and_can_be_asked_again() -> None:
    busy = failure("rate-limited", retryable=True, reached=False, status=429)
    script = ScriptedSystem("1", busy, "2")
    async with (
        running(make_app(script, name="x")) as address,
        entered(_http(address)) as http,
        http.session(TALK) as session,
    ):
        await session.ask(ChatRequest(question="A?", history=(), depth=1))
        again = ChatRequest(question="B?", history=(), depth=2)
        with pytest.raises(AdapterRateLimitedError):
            await session.ask(again)
        assert (await session.ask(again)).text == "2"

    assert [len(request.history) for request in script.requests] == [0, 1, 1]
