"""The ``openai`` adapter: what it sends, what it reads, and the contract."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterRefusedError,
    ChatRequest,
    Conversation,
    Exchange,
    Passage,
    TokenLogprobs,
    Usage,
)
from replay_adapters.chat.openai import OpenAIAdapter
from tests.adapters.asking import exchange, reply_of
from tests.adapters.chat.speaking import WHOLE, adapter_of, told
from tests.adapters.servers import answering, completion

TALK = Conversation(
    id="c",
    turns=(),
    title="Stone Garden",
    passages=(Passage(id="1", text="One."), Passage(id="2", text="Two.")),
)
REQUEST = ChatRequest(
    question="And then?",
    history=(Exchange(question="Who?", answer="Mira."), Exchange(question="Unanswered?", answer=" ")),
    depth=3,
)
_ask = partial(told, "chat", request=REQUEST, talk=TALK)


async def test_it_sends_system_history_and_question_and_leaves_out_what_was_not_answered() -> None:
    _, request, body = await _ask(
        completion("Yes."), system="On {{conversation.title}}:\n\n{{passage}}", extra={"temperature": 0.5}
    )

    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert body == {
        "model": "m",
        "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "On Stone Garden:\n\nOne.\n\nTwo."},
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Mira."},
            {"role": "user", "content": "And then?"},
        ],
    }


async def test_without_a_system_text_there_is_no_system_message() -> None:
    _, _, body = await _ask(completion("Yes."), system="{{conversation.background}}")

    assert body["messages"][0]["role"] == "user"


async def test_the_key_comes_from_the_environment_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    _, request, _ = await _ask(completion("Yes."), api_key_env="SOME_KEY", headers={"X-Team": "green"})

    assert request.headers["Authorization"] == "Bearer sk-very-secret"
    assert request.headers["X-Team"] == "green"
    adapter = OpenAIAdapter(base_url="http://localhost/v1", model="m", api_key_env="SOME_KEY")
    assert "secret" not in repr(adapter)


async def test_no_key_is_sent_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for one service must not be given to another just because it is there."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    _, request, _ = await _ask(completion("Yes."))

    assert "Authorization" not in request.headers


async def test_it_reads_text_usage_passages_and_times() -> None:
    answer = completion(
        "Yes.",
        usage={"prompt_tokens": 12, "completion_tokens": 2},
        sources=[{"id": 7, "text": "Seven.", "title": "S"}, {"id": "8"}],
    )
    reply, _, _ = await _ask(answer, passages_path="sources")

    assert reply.text == "Yes."
    assert reply.usage == Usage(prompt_tokens=12, completion_tokens=2)
    assert reply.passages == (Passage(id="7", text="Seven.", title="S"), Passage(id="8", text=""))
    assert reply.times is not None
    assert reply.times.first_byte is not None


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "many"}, {"prompt_tokens": None}])
async def test_unusable_usage_is_no_usage(usage: Any) -> None:
    reply, _, _ = await _ask(completion("Yes.", usage=usage))

    assert reply.usage is None


async def test_a_text_in_parts_is_put_together() -> None:
    reply, _, _ = await _ask(completion([{"type": "text", "text": "Ye"}, {"type": "text", "text": "s."}]))

    assert reply.text == "Yes."


@pytest.mark.parametrize(
    ("logprobs", "read"),
    [
        (
            {"content": [{"token": "4", "logprob": -0.5, "top_logprobs": [{"token": "4", "logprob": -0.5}]}]},
            (TokenLogprobs(token="4", logprob=-0.5, top=(("4", -0.5),)),),
        ),
        ({"content": [{"token": "4", "logprob": -0.5}]}, (TokenLogprobs(token="4", logprob=-0.5),)),
        ({"content": None}, None),
        ({"content": [{"token": "4"}]}, None),
        (None, None),
    ],
)
async def test_log_probabilities_are_read_where_they_are_as_documented(logprobs, read):
    body = completion("4")
    body["choices"][0]["logprobs"] = logprobs
    reply, _, _ = await _ask(body)

    assert reply.logprobs == read


async def test_a_requests_parameters_go_before_extra_but_never_before_ours():
    parameters = {"temperature": 0, "model": "other", "top_p": 1}
    _, _, body = await _ask(completion("Yes."), parameters=parameters, extra={"temperature": 0.5, "seed": 1})

    assert OpenAIAdapter(base_url="http://localhost", model="m").takes_parameters
    settings = {name: body[name] for name in ("temperature", "seed", "top_p", "model")}
    assert settings == {"temperature": 0, "seed": 1, "top_p": 1, "model": "m"}


async def test_an_azure_style_address_keeps_its_query_and_gets_its_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_KEY", "azure-secret")
    got: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        got.append(request)
        return web.json_response({"error": "azure-secret is wrong"}, status=401)

    async with answering(handler) as address:
        with pytest.raises(AdapterRefusedError, match="set by AZURE_KEY") as caught:
            await reply_of(
                OpenAIAdapter(
                    base_url=f"{address}/openai/deployments/d/?api-version=2024-10-21",
                    model="m",
                    headers_env={"api-key": "AZURE_KEY"},
                ),
                REQUEST,
                TALK,
            )

    assert "azure-secret" not in str(caught.value)
    (request,) = got
    assert request.path_qs == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == "azure-secret"
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("api", "path"),
    [("chat", "/v1/chat/completions"), ("responses", "/v1/responses"), ("anthropic", "/v1/messages")],
)
@pytest.mark.parametrize("tail", ["", "/", "?v=1"])
async def test_an_address_that_ends_with_the_endpoint_is_that_of_the_endpoint(
    api: str, path: str, tail: str
) -> None:
    _, sent = await exchange(lambda address: adapter_of(api, address + path + tail), WHOLE[api])

    assert sent.request.path_qs == path + tail.strip("/")
