"""Costs that servers tell themselves."""

from __future__ import annotations

from typing import Any

import pytest

from replay_adapters.chat.streamed_answer import reported_cost_usd
from tests.adapters.asking import exchange
from tests.adapters.chat.speaking import adapter_of, named, response
from tests.adapters.servers import delta, event


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


CHAT = {"choices": [{"message": {"content": "Yes."}}]}
IN_USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.5}
RESPONSE = response("Yes.", usage={"input_tokens": 1, "output_tokens": 2, "cost": 0.5})


@pytest.mark.parametrize(
    ("api", "answer", "headers"),
    [
        ("chat", CHAT, {"X-LiteLLM-Response-Cost": "5e-01"}),
        ("chat", (delta("Yes.", "stop"), event({"choices": [], "usage": IN_USAGE})), None),
        ("responses", RESPONSE, None),
        (
            "responses",
            (
                named("response.output_text.delta", delta="Yes."),
                named("response.completed", response=RESPONSE),
            ),
            None,
        ),
    ],
)
async def test_a_reply_has_the_cost_that_stands_there_whole_or_streamed(
    api: str, answer: Any, headers: Any
) -> None:
    stream = isinstance(answer, tuple)
    reply, _ = await exchange(
        lambda address: adapter_of(api, address, stream=stream), answer, headers=headers
    )

    assert reply.cost_usd == 0.5
