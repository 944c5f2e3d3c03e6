"""The ``anthropic`` adapter: what it sends, what it reads, and the contract, streamed and not."""

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
    Passage,
    Usage,
)
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.chat.anthropic import AnthropicAdapter
from tests.adapters.servers import answering, cutting, event, streamed


def _message(text: Any, **more: Any) -> dict[str, Any]:
    content = [] if text is None else [{"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", **more}


def _named(type: str, **more: Any) -> bytes:
    return event({"type": type, **more}, name=type)


def _delta(text: str) -> bytes:
    return _named("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


START = _named(
    "message_start", message={"content": [], "usage": {"input_tokens": 12, "output_tokens": 1}}
) + _named("content_block_start", index=0, content_block={"type": "text", "text": ""})
STOP = (
    _named("content_block_stop", index=0)
    + _named(
        "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 7}
    )
    + _named("message_stop")
)
PING = _named("ping")


async def _model(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    *before, last = [m["content"] for m in body["messages"] if m["role"] == "user"]
    if last == HANG:
        await asyncio.Event().wait()
    if last == FAIL:
        return web.json_response({"type": "error", "error": {"type": "invalid_request_error"}}, status=400)
    text = f"{body['metadata']['user_id']}, {len(before)} before"
    if body.get("stream"):
        return await streamed(
            request, START, *(_delta(text[n : n + 5]) for n in range(0, len(text), 5)), STOP
        )
    return web.json_response(_message(text))


class TestAnthropicAdapter(AdapterContract):
    @pytest.fixture(params=[False, True], ids=["whole", "streamed"])
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[AnthropicAdapter]:
        async with answering(_model) as address:
            extra = {"metadata": {"user_id": "{{conversation.id}}"}}
            yield AnthropicAdapter(base_url=address, model="m", extra=extra, stream=request.param)


TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One."),))
REQUEST = ChatRequest(question="And then?", history=(Exchange(question="Who?", answer="Mira."),), depth=2)


async def _ask(
    answer: Any, *, parameters: dict[str, Any] | None = None, **settings: Any
) -> tuple[ChatReply, web.Request, Any]:
    """The reply to REQUEST, with what the server was sent; *answer* is a value or a stream's parts."""
    got: list[tuple[web.Request, Any]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        got.append((request, await request.json()))
        if isinstance(answer, tuple):
            return await streamed(request, *answer)
        return web.json_response(answer)

    request = ChatRequest(
        question=REQUEST.question, history=REQUEST.history, depth=2, parameters=parameters or {}
    )
    async with (
        answering(handler) as address,
        AnthropicAdapter(base_url=address, model="m", **settings) as adapter,
        adapter.session(TALK) as session,
    ):
        reply = await session.ask(request)
    return reply, *got[0]


async def test_it_sends_what_the_api_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-ant-very-secret")
    monkeypatch.setenv("GATE", "gate-secret")
    _, request, body = await _ask(
        _message("Yes."),
        api_key_env="SOME_KEY",
        headers_env={"X-Gate": "GATE"},
        system="Text: {{passage}}",
        max_tokens=50,
        extra={"temperature": 0.5},
    )

    assert (request.method, request.path) == ("POST", "/v1/messages")
    sent = [request.headers[name] for name in ("x-api-key", "anthropic-version", "x-gate", "content-type")]
    assert sent == ["sk-ant-very-secret", "2023-06-01", "gate-secret", "application/json"]
    assert body == {
        "model": "m",
        "max_tokens": 50,
        "temperature": 0.5,
        "system": "Text: One.",
        "messages": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Mira."},
            {"role": "user", "content": "And then?"},
        ],
    }


async def test_parameters_go_before_extra_under_this_apis_names() -> None:
    given = {"temperature": 0, "max_tokens": 5, "stop": ["x"], "model": "other"}
    _, _, body = await _ask(_message("Yes."), parameters=given, extra={"temperature": 1, "top_k": 3})

    settings = {
        name: body.get(name) for name in ("temperature", "max_tokens", "stop_sequences", "top_k", "model")
    }
    assert settings == {"temperature": 0, "max_tokens": 5, "stop_sequences": ["x"], "top_k": 3, "model": "m"}


async def test_it_reads_texts_and_counts() -> None:
    value = _message("Ye")
    value["content"] += [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "s."}]
    value["usage"] = {"input_tokens": 5, "cache_read_input_tokens": 30, "output_tokens": 2}

    reply, _, _ = await _ask(value)

    assert reply.text == "Yes."
    assert reply.usage == Usage(prompt_tokens=35, completion_tokens=2, cached_prompt_tokens=30)


async def test_it_reads_a_stream_with_its_counts_and_times() -> None:
    thinking = _named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "?"})
    reply, _, body = await _ask(
        (START, PING, thinking, _delta("Ye"), PING, _delta("s – 😀."), STOP), stream=True
    )

    assert body["stream"] is True
    assert reply.text == "Yes – 😀."
    assert reply.usage == Usage(prompt_tokens=12, completion_tokens=7)
    assert reply.times is not None
    assert reply.times.first_token is not None
    assert len(reply.times.token_gaps_100us) == 1


async def test_a_stream_may_be_of_another_form() -> None:
    """Comments, other line ends, values of other types."""
    odd = event({"type": "content_block_delta", "delta": {"text": 5}}) + event([]) + b": wait\n\n"
    reply, _, _ = await _ask((odd, _delta("Yes.").replace(b"\n", b"\r\n"), STOP), stream=True)

    assert reply.text == "Yes."


async def test_a_server_that_does_not_stream_is_taken_as_it_is() -> None:
    reply, _, _ = await _ask(_message("Yes."), stream=True)

    assert reply.text == "Yes."


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_a_stream_cut_anywhere_is_told_with_the_text_that_had_come(framing: str) -> None:
    stream = START + _delta("Schö") + PING + _delta("n 😀.") + STOP
    places = [len(START + _delta("Schö")), stream.index(_delta("n 😀.")) + len(_delta("n 😀."))]
    complete = stream.index(b"\n\n", stream.index(b"end_turn")) + 2
    outcomes = set()
    async with cutting(stream) as address:
        for much in [*range(0, len(stream), 11), *range(stream.index(b"\xf0"), stream.index(b"\xf0") + 5)]:
            ended = "".join(
                text for text, place in zip(["Schö", "n 😀."], places, strict=True) if place <= much
            )
            try:
                async with (
                    AnthropicAdapter(
                        base_url=f"{address}/{much}/{framing}", model="m", stream=True
                    ) as adapter,
                    adapter.session(TALK) as session,
                ):
                    text = (await session.ask(REQUEST)).text
            except AdapterError as error:
                outcomes.add(type(error))
                text = error.partial if isinstance(error, AdapterCutOffError) else ""
                assert much < complete
            else:
                assert much >= complete
            assert text == ended

    assert outcomes == {AdapterCutOffError, AdapterConnectionError}


@pytest.mark.parametrize(
    ("type", "kind", "retryable"),
    [
        ("overloaded_error", AdapterRefusedError, True),
        ("api_error", AdapterRefusedError, True),
        ("rate_limit_error", AdapterRateLimitedError, True),
        ("invalid_request_error", AdapterRefusedError, False),
    ],
)
async def test_an_error_in_a_stream_is_one_as_its_type_says(
    type: str, kind: type[AdapterError], retryable: bool
) -> None:
    error = _named("error", error={"type": type, "message": "Sorry"})
    with pytest.raises(kind, match="Sorry") as caught:
        await _ask((START, _delta("Ye"), error), stream=True)

    assert caught.value.retryable == retryable


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_message(None), "without a text (finish_reason 'end_turn')"),
        (_message(" ", stop_reason="max_tokens"), "raise the token limit"),
        (_message(None, stop_reason="refusal"), "a refusal of the model"),
        ({"choices": []}, "without content; check that base_url"),
        ([], "without content"),
        ((START, STOP), "without a text"),
        (
            (START, _named("message_delta", delta={"stop_reason": "max_tokens"}), _named("message_stop")),
            "raise the token limit",
        ),
    ],
)
async def test_a_reply_without_a_usable_text_says_why(answer: Any, said: str) -> None:
    with pytest.raises(AdapterReplyError) as caught:
        await _ask(answer, stream=isinstance(answer, tuple))

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "api.anthropic.com"}, "base_url"),
        ({"model": ""}, "model is empty"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"api_key_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE is not set"),
        ({"extra": {"max_tokens": 1}}, "extra.max_tokens"),
        ({"extra": {"messages": []}}, "extra.messages"),
        ({"system": "{{passsage}}"}, 'did you mean "passage"'),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_once(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AnthropicAdapter(**{"model": "m"} | settings)
