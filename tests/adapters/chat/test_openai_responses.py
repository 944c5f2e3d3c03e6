"""The ``openai`` adapter with ``api: responses``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    TokenLogprobs,
    Usage,
)
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.servers import answering, cutting, event, streamed

TALK = Conversation(id="c", turns=(), title="T")
HISTORY = (Exchange(question="Who?", answer="Mira."),)


def _response(text: str | None, **more: Any) -> dict[str, Any]:
    content = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": content},
    ]
    return {"object": "response", "status": "completed", "output": output, **more}


def _named(type: str, **more: Any) -> bytes:
    return event({"type": type, **more}, name=type)


def _delta(text: str, **more: Any) -> bytes:
    return _named("response.output_text.delta", delta=text, **more)


START = _named("response.created", response={"status": "in_progress", "output": []})
COMPLETED = _named(
    "response.completed", response=_response("-", usage={"input_tokens": 12, "output_tokens": 7})
)


async def _model(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    *before, last = [item["content"] for item in body["input"] if item["role"] == "user"]
    if last == HANG:
        await asyncio.Event().wait()
    if last == FAIL:
        return web.json_response({"error": {"message": "no"}}, status=400)
    pieces = [f"{body['user']}, ", f"{len(before)} before"]
    if body.get("stream"):
        return await streamed(request, START, *map(_delta, pieces), COMPLETED)
    return web.json_response(_response("".join(pieces)))


class TestResponses(AdapterContract):
    @pytest.fixture(params=[False, True], ids=["whole", "streamed"])
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[OpenAIAdapter]:
        async with answering(_model) as address:
            yield OpenAIAdapter(
                base_url=address,
                api="responses",
                model="m",
                extra={"user": "{{conversation.id}}"},
                stream=request.param,
            )


async def _ask(
    answer: Any, *, parameters: dict[str, Any] | None = None, **settings: Any
) -> tuple[ChatReply, str, Any]:
    """The reply, with path and body that the server was sent; *answer* is a value or a stream's parts."""
    got: list[tuple[str, Any]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        got.append((request.path, await request.json()))
        if isinstance(answer, tuple):
            return await streamed(request, *answer)
        return web.json_response(answer)

    request = ChatRequest(question="And then?", history=HISTORY, depth=2, parameters=parameters or {})
    settings = {"stream": isinstance(answer, tuple)} | settings
    async with (
        answering(handler) as address,
        OpenAIAdapter(base_url=f"{address}/v1", api="responses", model="m", **settings) as adapter,
        adapter.session(TALK) as session,
    ):
        reply = await session.ask(request)
    return reply, *got[0]


async def test_it_sends_instructions_and_input() -> None:
    _, path, body = await _ask(
        _response("Yes."),
        system="On {{conversation.title}}.",
        extra={"store": False},
        parameters={"max_tokens": 5, "logprobs": True, "top_logprobs": 2, "temperature": 0},
    )

    assert path == "/v1/responses"
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


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
            {"type": "json_schema", "name": "n", "schema": {}},
        ),
    ],
)
async def test_a_wanted_format_is_put_where_responses_have_it(wanted: Any, sent: Any) -> None:
    _, _, body = await _ask(_response("{}"), parameters={"response_format": wanted, "logprobs": False})

    assert body["text"] == {"format": sent}
    assert "include" not in body
    assert "logprobs" not in body


async def test_it_reads_text_usage_and_log_probabilities() -> None:
    value = _response("Yes.", usage={"input_tokens": 3, "output_tokens": 1})
    value["output"][1]["content"][0]["logprobs"] = [{"token": "Yes.", "logprob": -0.5, "top_logprobs": []}]

    reply, _, _ = await _ask(value)

    assert reply.text == "Yes."
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=1)
    assert reply.logprobs == (TokenLogprobs(token="Yes.", logprob=-0.5),)


async def test_it_reads_a_stream() -> None:
    logprobs = [{"token": "Ye", "logprob": -0.5}]
    done = _named("response.output_text.done", text="Yes.")
    reply, _, body = await _ask((START, _delta("Ye", logprobs=logprobs), _delta("s."), done, COMPLETED))

    assert body["stream"] is True
    assert "stream_options" not in body
    assert reply.text == "Yes."
    assert reply.usage == Usage(prompt_tokens=12, completion_tokens=7)
    assert reply.logprobs == (TokenLogprobs(token="Ye", logprob=-0.5),)
    assert reply.times is not None
    assert reply.times.first_token is not None
    assert len(reply.times.token_gaps_100us) == 1


async def test_a_stream_may_come_without_names_and_an_answer_may_be_incomplete() -> None:
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    parts = (
        event({"type": "response.output_text.delta", "delta": "Yes"}),
        event({"type": "response.incomplete", "response": incomplete}),
    )
    reply, _, _ = await _ask(parts)

    assert reply.text == "Yes"


@pytest.mark.parametrize("framing", ["chunked", "close"])
async def test_a_stream_cut_anywhere_is_told_with_the_text_that_had_come(framing: str) -> None:
    stream = START + _delta("Schö") + _delta("n.") + COMPLETED
    places = [len(START + _delta("Schö")), len(START + _delta("Schö") + _delta("n."))]
    outcomes = set()
    async with cutting(stream) as address:
        for much in range(0, len(stream), 9):
            ended = "".join(text for text, place in zip(["Schö", "n."], places, strict=True) if place <= much)
            with pytest.raises(AdapterError) as caught:
                async with (
                    OpenAIAdapter(
                        base_url=f"{address}/{much}/{framing}", api="responses", model="m", stream=True
                    ) as adapter,
                    adapter.session(TALK) as session,
                ):
                    await session.ask(ChatRequest(question="Q?", history=(), depth=1))
            error = caught.value
            outcomes.add(type(error))
            assert (error.partial if isinstance(error, AdapterCutOffError) else "") == ended

    assert outcomes == {AdapterCutOffError, AdapterConnectionError}


FAILED = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "Sorry"}}


@pytest.mark.parametrize(
    ("answer", "kind", "retryable"),
    [
        (FAILED, AdapterRefusedError, True),
        ((START, _named("response.failed", response=FAILED)), AdapterRefusedError, True),
        ((_named("error", code="rate_limit_exceeded", message="Sorry"),), AdapterRateLimitedError, True),
        (
            (_named("error", error={"code": "invalid_prompt", "message": "Sorry"}),),
            AdapterRefusedError,
            False,
        ),
    ],
)
async def test_a_failed_response_is_an_error_as_its_code_says(
    answer: Any, kind: type[AdapterError], retryable: bool
) -> None:
    with pytest.raises(kind, match="Sorry") as caught:
        await _ask(answer)

    assert caught.value.retryable == retryable


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_response(None), "without a text (finish_reason 'completed')"),
        (_response("", incomplete_details={"reason": "max_output_tokens"}), "raise the token limit"),
        ({"choices": []}, "without output; check that base_url"),
        ((START, _named("response.refusal.delta", delta="No."), COMPLETED), "a refusal of the model"),
        ((START, COMPLETED), "without a text"),
    ],
)
async def test_a_response_without_a_usable_text_says_why(answer: Any, said: str) -> None:
    with pytest.raises(AdapterReplyError) as caught:
        await _ask(answer)

    assert said in str(caught.value)
