"""The ``openai`` adapter with ``api: responses``."""

from __future__ import annotations

from functools import partial
from typing import Any

from replay import ChatRequest, Conversation, Exchange, TokenLogprobs, Usage
from tests.adapters.chat.speaking import RESPONSE_START, named, response, told
from tests.adapters.servers import event
from tests.data_tables import from_table

TALK = Conversation(id="c", turns=(), title="T")
REQUEST = ChatRequest(question="And then?", history=(Exchange(question="Who?", answer="Mira."),), depth=2)
_ask = partial(told, "responses", request=REQUEST, talk=TALK)


def _delta(text: str, **more: Any) -> bytes:
    return named("response.output_text.delta", delta=text, **more)


COMPLETED = named(
    "response.completed", response=response("-", usage={"input_tokens": 12, "output_tokens": 7})
)


async def test_it_sends_instructions_and_input() -> None:
    _, request, body = await _ask(
        response("Yes."),
        system="On {{conversation.title}}.",
        extra={"store": False},
        parameters={"max_tokens": 5, "logprobs": True, "top_logprobs": 2, "temperature": 0},
    )

    assert request.path == "/v1/responses"
    assert body == {
        "stream": False,
        "model": "m",
        "store": False,
        "instructions": "On T.",
        "max_output_tokens": 5,
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 2,
        "temperature": 0,
        "input": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Mira."},
            {"role": "user", "content": "And then?"},
        ],
    }


@from_table
async def test_a_wanted_format_is_put_where_responses_have_it(wanted: Any, sent: Any) -> None:
    _, _, body = await _ask(response("{}"), parameters={"response_format": wanted, "logprobs": False})

    assert body["text"] == {"format": sent}
    assert "include" not in body
    assert "logprobs" not in body


async def test_it_reads_text_usage_and_log_probabilities() -> None:
    value = response("Yes.", usage={"input_tokens": 3, "output_tokens": 1})
    value["output"][1]["content"][0]["logprobs"] = [{"token": "Yes.", "logprob": -0.5, "top_logprobs": []}]

    reply, _, _ = await _ask(value)

    assert reply.text == "Yes."
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=1)
    assert reply.logprobs == (TokenLogprobs(token="Yes.", logprob=-0.5),)


async def test_it_reads_a_stream() -> None:
    logprobs = [{"token": "Ye", "logprob": -0.5}]
    done = named("response.output_text.done", text="Yes.")
    reply, _, body = await _ask(
        (RESPONSE_START, _delta("Ye", logprobs=logprobs), _delta("s."), done, COMPLETED)
    )

    assert body["stream"] is True
    assert "stream_options" not in body
    assert reply.text == "Yes."
    assert reply.usage == Usage(prompt_tokens=12, completion_tokens=7)
    assert reply.logprobs == (TokenLogprobs(token="Ye", logprob=-0.5),)


async def test_a_stream_may_come_without_names_and_an_answer_may_be_incomplete() -> None:
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    parts = (
        event({"type": "response.output_text.delta", "delta": "Yes"}),
        event({"type": "response.incomplete", "response": incomplete}),
    )
    reply, _, _ = await _ask(parts)

    assert reply.text == "Yes"
