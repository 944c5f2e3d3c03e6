"""Costs that servers tell themselves."""

from __future__ import annotations

from typing import Any

import pytest

from replay import ChatReply
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.chat.streamed_answer import reported_cost_usd
from tests.adapters.asking import exchange
from tests.adapters.servers import event


@pytest.mark.parametrize(
    ("usage", "headers", "cost"),
    [
        ({"cost": 0.25}, {}, 0.25),
        ({"cost": 0}, {"x-litellm-response-cost": "1"}, 0.0),
        ({"cost": None}, {"x-litellm-response-cost": "1.35e-05"}, 1.35e-05),
        (None, {"x-litellm-response-cost": "2"}, 2.0),
        (None, {"x-litellm-response-cost": "None"}, None),
        ({"cost": {"total": 1}}, {}, None),
        ({"cost": float("nan")}, {}, None),
        ({"cost": -1}, {}, None),
        ([], {}, None),
    ],
)
def test_a_cost_is_a_finite_number_in_usage_or_header(
    usage: Any, headers: dict[str, str], cost: float | None
) -> None:
    assert reported_cost_usd(usage, headers) == cost


async def _ask(api: Any, answer: Any, headers: Any = None) -> ChatReply:
    def adapter(address: str) -> OpenAIAdapter:
        return OpenAIAdapter(base_url=address, model="m", api=api, stream=isinstance(answer, tuple))

    reply, _ = await exchange(adapter, answer, headers=headers)
    return reply


async def test_a_whole_chat_reply_has_the_cost_of_its_header() -> None:
    body = {"choices": [{"message": {"content": "Yes."}}]}

    reply = await _ask("chat", body, {"X-LiteLLM-Response-Cost": "1.5e-05"})

    assert reply.cost_usd == 1.5e-05


async def test_a_streamed_chat_reply_has_the_cost_of_its_last_usage() -> None:
    events = (
        event({"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]}),
        event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 7.95e-06}}),
    )

    reply = await _ask("chat", events)

    assert reply.cost_usd == 7.95e-06


async def test_a_responses_reply_has_the_cost_of_its_usage_whole_or_streamed() -> None:
    body = {
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "cost": 0.5},
    }
    events = (
        event({"type": "response.output_text.delta", "delta": "Yes."}),
        event({"type": "response.completed", "response": body}),
    )

    whole = await _ask("responses", body)
    in_pieces = await _ask("responses", events)

    assert whole.cost_usd == in_pieces.cost_usd == 0.5
