"""The ``anthropic`` adapter: what it sends, what it reads, and the contract, streamed and not."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from replay import ChatRequest, Conversation, Exchange, Passage, Usage
from tests.adapters.chat.speaking import MESSAGE_START, MESSAGE_STOP, named, told
from tests.adapters.servers import event


def _message(text: Any, **more: Any) -> dict[str, Any]:
    content = [] if text is None else [{"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", **more}


def _delta(text: str) -> bytes:
    return named("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


PING = named("ping")


TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One."),))
REQUEST = ChatRequest(question="And then?", history=(Exchange(question="Who?", answer="Mira."),), depth=2)
_ask = partial(told, "anthropic", request=REQUEST, talk=TALK)


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


async def test_it_reads_a_stream_with_its_counts() -> None:
    thinking = named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "?"})
    reply, _, body = await _ask(
        (*MESSAGE_START, PING, thinking, _delta("Ye"), PING, _delta("s – 😀."), *MESSAGE_STOP), stream=True
    )

    assert body["stream"] is True
    assert reply.text == "Yes – 😀."
    assert reply.usage == Usage(prompt_tokens=12, completion_tokens=7)


async def test_a_stream_may_be_of_another_form() -> None:
    """Comments, other line ends, values of other types."""
    odd = event({"type": "content_block_delta", "delta": {"text": 5}}) + event([]) + b": wait\n\n"
    reply, _, _ = await _ask((odd, _delta("Yes.").replace(b"\n", b"\r\n"), *MESSAGE_STOP), stream=True)

    assert reply.text == "Yes."
