"""The ``inspect`` adapter: Inspect's models and agents as systems."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason='needs pip install "convreplay[inspect]"')

from aiohttp import web
from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput, ModelUsage
from inspect_ai.model._model_output import Logprob, Logprobs, TopLogprob

from replay import AdapterError, ChatRequest, Conversation, Exchange, Message, Passage, ToolCall, Turn, Usage
from replay.core.asking.retries import RetryPolicy
from replay.core.safety.consent import code_may_run
from replay.play.tool_results import ANY, ListedResult, ListedResults, Tools
from replay.policies.recorded import GoldPolicy
from replay.testing import FAIL, HANG, AdapterContract, entered, play
from replay_adapters.harnesses.inspect import InspectAdapter
from replay_adapters.harnesses.inspect_messages import reply_of
from tests.adapters.servers import answering
from tests.data_tables import from_table

CONVERSATION = Conversation(id="album", turns=())
TALK = Conversation(
    id="album",
    turns=(
        Turn(id="1", question="Who wrote it?", gold_answers=("Alice Okafor.",)),
        Turn(id="2", question="When did she?", gold_answers=("In 1988.",)),
    ),
)


def said(text: str, usage: ModelUsage | None = None, **more: Any) -> ModelOutput:
    """An output with its usage, which Inspect would else count with what it downloads."""
    output = ModelOutput.from_content("mockllm/model", text, **more)
    output.usage = usage or ModelUsage(input_tokens=3, output_tokens=2)
    return output


def model(answer: Any, **settings: Any) -> InspectAdapter:
    """A model that answers as *answer* does, which is given all that Inspect gives a provider."""
    return InspectAdapter(model="mockllm/model", model_args={"custom_outputs": answer}, **settings)


async def asked(adapter: InspectAdapter, request: ChatRequest, about: Conversation = CONVERSATION) -> Any:
    async with entered(adapter), adapter.session(about) as session:
        return await session.ask(request)


class TestModelContract(AdapterContract):
    @pytest.fixture
    def adapter(self) -> InspectAdapter:
        async def answer(input: Any, *_: Any) -> ModelOutput:
            prompt, *before, question = [message.text for message in input]
            if question == HANG:
                await asyncio.Event().wait()
            if question == FAIL:
                raise LookupError("no such harbour")
            return said(f"{prompt}: {len(before) // 2} before")

        return model(answer, system="{{ conversation.id }}")


AGENT = '''
from inspect_ai.agent import agent
from aiohttp import web
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageSystem, ModelOutput
from inspect_ai.tool import ToolCall
import asyncio

@agent
def clerk(greeting="Hello"):
    """Looks an order up."""
    async def run(state):
        *before, question = [message for message in state.messages if message.role in ("user", "assistant")]
        if question.text == "Hang, harbour!":
            await asyncio.Event().wait()
        if question.text == "Fail, harbour!":
            raise LookupError("no such harbour")
        state.messages.insert(0, ChatMessageSystem(content="You are a clerk."))
        call = ToolCall(id="c1", function="look", arguments={"id": 7})
        state.messages.append(ChatMessageAssistant(content="", tool_calls=[call]))
        state.messages.append(ChatMessageTool(content="packed", tool_call_id="c1", function="look"))
        prompt = [message.text for message in state.messages if message.role == "system"][-1]
        state.output = ModelOutput.from_content("clerk", f"{greeting}: {prompt}: {len(before) // 2} before")
        state.messages.append(state.output.message)
        return state
    return run

def nothing():
    return None
'''


class TestAgentContract(AdapterContract):
    @pytest.fixture
    def adapter(self, tmp_path: Path) -> InspectAdapter:
        return agent(tmp_path, system="{{ conversation.id }}")


def agent(folder: Path, name: str = "agents.py@clerk", **settings: Any) -> InspectAdapter:
    (folder / "agents.py").write_text(AGENT, "utf-8")
    with code_may_run():
        return InspectAdapter(agent=name, folder=folder, **settings)


async def test_an_agents_calls_are_the_turns_steps(tmp_path):
    """What it says to itself beside them, its own prompt, is no part of the conversation."""
    reply = await asked(
        agent(tmp_path, agent_args={"greeting": "Hi"}, system="Be kind."),
        ChatRequest(question="Where is it?", history=(Exchange(question="Q", answer="A"),), depth=2),
    )
    assert reply.text == "Hi: Be kind.: 1 before"
    assert reply.steps == (
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="look", arguments='{"id":7}'),)),
        Message(role="tool", text="packed", tool_call_id="c1", name="look"),
    )
    assert reply.usage is None


@from_table
def test_what_is_no_agent_is_named_before_anything_is_asked(tmp_path, name, fault):
    with pytest.raises(Exception, match=fault):
        agent(tmp_path, name)


async def test_a_model_is_shown_the_chat_as_it_was():
    """System prompts in their place, calls of tools with their results, and no empty message."""
    seen = []

    def answer(input: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        seen.extend(
            (m.role, m.text, [c.arguments for c in getattr(m, "tool_calls", None) or ()]) for m in input
        )
        return said("Fine.")

    call = ToolCall(id="c", name="look", arguments='{"id": 7}')
    history = (
        Exchange(
            question="Where is it?",
            answer="Packed.",
            asked_with=(Message(role="system", text="Be brief."),),
            steps=(
                Message(role="assistant", tool_calls=(call,)),
                Message(role="tool", text="packed", tool_call_id="c", name="look"),
            ),
        ),
        Exchange(question="Really?", answer=" ", asked_with=(Message(role="developer", text="Be kind."),)),
    )
    request = ChatRequest(question="And now?", history=history, depth=3)
    assert (await asked(model(answer), request)).text == "Fine."
    assert seen == [
        ("system", "Be brief.", []),
        ("user", "Where is it?", []),
        ("assistant", "", [{"id": 7}]),
        ("tool", "packed", []),
        ("assistant", "Packed.", []),
        ("system", "Be kind.", []),
        ("user", "And now?", []),
    ]
    seen.clear()
    adapter = model(answer, system="Answer from: {{ passage }}")
    with_passage = Conversation(id="a", turns=(), passages=(Passage(id="p", text="A text."),))
    await asked(adapter, request, with_passage)
    assert [text for role, text, _ in seen if role == "system"] == ["Answer from: A text."]


async def test_settings_and_a_requests_parameters_are_generation_settings():
    configs = []

    def answer(input: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        configs.append(config.model_dump(exclude_none=True))
        return said("Fine.")

    adapter = model(answer, config={"temperature": 0.5, "top_p": 0.9})
    parameters = {"seed": 7, "temperature": 0, "stop": "\n", "store": False}
    await asked(adapter, ChatRequest(question="Q", history=(), depth=1, parameters=parameters))
    assert adapter.takes_seed
    assert configs == [
        {
            "temperature": 0,
            "top_p": 0.9,
            "seed": 7,
            "stop_seqs": ["\n"],
            "extra_body": {"store": False},
            "max_retries": 0,
            "max_connections": 10_000,
        }
    ]


async def test_tokens_cost_and_probabilities_come_back():
    """Inspect counts the prompt's tokens that were in a cache beside the others, we among them."""
    usage = ModelUsage(
        input_tokens=3,
        output_tokens=2,
        input_tokens_cache_read=10,
        input_tokens_cache_write=1,
        total_cost=0.5,
    )
    output = said("Fine.", usage)
    output.choices[0].logprobs = Logprobs(
        content=[Logprob(token="Fine", logprob=-0.1, top_logprobs=[TopLogprob(token="Fine", logprob=-0.1)])]
    )
    output.time = 2.0
    reply = await asked(model([output]), ChatRequest(question="Q", history=(), depth=1, keep_raw=True))
    assert reply.usage == Usage(prompt_tokens=14, completion_tokens=2, cached_prompt_tokens=10)
    assert reply.cost_usd == 0.5
    assert [(one.token, one.top) for one in reply.logprobs] == [("Fine", (("Fine", -0.1),))]
    assert ModelOutput.model_validate_json(reply.raw).completion == "Fine."
    output.time = 2.0
    times = reply_of(output, ChatRequest(question="Q", history=(), depth=1)).times
    assert times.done - times.sent == pytest.approx(2.0)


LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


async def test_tools_are_offered_and_the_models_reasoning_goes_with_its_calls():
    """Providers refuse a result whose call lacks the reasoning that led to it."""
    inputs = []

    def answer(input: Any, tools: Any, *_: Any) -> ModelOutput:
        inputs.append(list(input))
        assert [tool.name for tool in tools] == ["look"]
        if input[-1].role == "tool":
            return said(f"It is {input[-1].text}.")
        output = ModelOutput.for_tool_call("mockllm/model", "look", {"id": len(inputs)})
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)
        output.message.content = [ContentReasoning(reasoning="Hm."), ContentText(text="")]
        return output

    tools = Tools(
        sources=(ListedResults(results=(ListedResult(name="look", arguments=ANY, text="packed"),)),)
    )
    adapter = model(answer, tools=[LOOK])
    async with adapter:
        first, second = await play(adapter, GoldPolicy(), TALK, tools=tools)
    assert [first.answer, second.answer] == ["It is packed.", "It is packed."]
    assert [step.role for step in first.steps] == ["assistant", "tool"]
    own = [message for message in inputs[1] if message.role == "assistant"][-1]
    assert isinstance(own, ChatMessageAssistant)
    assert isinstance(own.content[0], ContentReasoning)
    # An answer of an earlier turn is shown as the record has it, and as the same object each time.
    assert inputs[3][: len(inputs[2])] == inputs[2]


class Failing(Exception):
    status_code: int


@pytest.mark.parametrize(
    ("status", "outcome", "asks"),
    [(429, "rate-limited", 3), (503, "refused", 3), (400, "refused", 1), (401, "refused", 1)],
)
async def test_a_providers_failure_is_ours_to_try_again(status, outcome, asks):
    """Inspect's own retries are off: there is one who waits, and the record says how often it was asked."""
    count = 0

    def answer(*_: Any) -> ModelOutput:
        nonlocal count
        count += 1
        error = Failing("no")
        error.status_code = status
        raise error

    adapter = model(answer)
    async with adapter:
        patience = RetryPolicy(attempts=3, fail_fast=False)
        (record,) = await play(adapter, GoldPolicy(), TALK, patience=patience)
    assert (record.outcome, record.attempts, count) == (outcome, asks, asks)
    assert 'mockllm/model" raised Failing: no' in record.error


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TimeoutError(), "timed-out"),
        (ConnectionResetError(), "connection-failed"),
        (KeyError("x"), "refused"),
    ],
)
async def test_failures_without_a_status_go_by_their_kind(error, outcome):
    def answer(*_: Any) -> ModelOutput:
        raise error

    with pytest.raises(AdapterError) as failed:
        await asked(model(answer), ChatRequest(question="Q", history=(), depth=1))
    assert failed.value.outcome == outcome


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (said(" ", stop_reason="max_tokens"), "stop_reason max_tokens.; raise config.max_tokens"),
        (said("", stop_reason="content_filter", error="Filtered."), "without a text .Filtered"),
        (ModelOutput(model="m", choices=[], usage=ModelUsage()), "no choices"),
    ],
)
async def test_an_answer_without_a_text_is_none(output, why):
    with pytest.raises(AdapterError, match=why) as failed:
        await asked(model([output]), ChatRequest(question="Q", history=(), depth=1))
    assert failed.value.outcome == "bad-reply"


@from_table
def test_a_wrong_setting_is_named_before_anything_is_asked(settings, fault):
    with pytest.raises(ValueError, match=fault):
        InspectAdapter(**settings)


async def test_without_a_model_and_an_eval_the_next_step_is_said(monkeypatch):
    monkeypatch.delenv("INSPECT_EVAL_MODEL", raising=False)
    with pytest.raises(AdapterError, match="model: openai/gpt-4o, or play within an eval"):
        await asked(InspectAdapter(), ChatRequest(question="Q", history=(), depth=1))


async def test_a_providers_client_asks_over_a_socket_as_often_as_the_record_says(monkeypatch):
    """With Inspect's own settings what may pass is asked again without an end."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    bodies = []

    async def answer(http: web.Request) -> web.Response:
        bodies.append(await http.json())
        if len(bodies) > 1:
            return web.json_response({"error": {"message": "slowly"}}, status=429)
        message = {"role": "assistant", "content": "Alice Okafor."}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        told = {"id": "x", "created": 1, "object": "chat.completion", "model": "m"}
        return web.json_response({**told, "choices": choices, "usage": usage})

    async with answering(answer) as address:
        settings = {"base_url": f"{address}/v1", "model_args": {"responses_api": False}}
        adapter = InspectAdapter(model="openai/gpt-4o", **settings, config={"temperature": 0})
        async with adapter:
            first, second = await play(adapter, GoldPolicy(), TALK, patience=RetryPolicy(attempts=2))
    assert (first.answer, first.usage) == ("Alice Okafor.", Usage(prompt_tokens=5, completion_tokens=2))
    assert (second.outcome, second.attempts, len(bodies)) == ("rate-limited", 2, 3)
    assert "RateLimitError" in second.error
    assert "slowly" in second.error
    assert [one["content"] for one in bodies[2]["messages"]] == [
        "Who wrote it?",
        "Alice Okafor.",
        "When did she?",
    ]
    assert bodies[0]["temperature"] == 0
