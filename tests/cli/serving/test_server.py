"""Any adapter as a server: both kinds of endpoint, whose answers are the adapter's own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import aiohttp
import pytest

from replay import Adapter
from replay.cli.serving.server import make_app
from replay.core.errors import InputError
from replay.web.app import serve
from replay_adapters.local.extractive import ExtractiveAdapter
from replay_adapters.local.scripted import ScriptedAdapter, ScriptedFault
from tests.adapters.servers import running
from tests.counting import Counting


@asynccontextmanager
async def _asking(adapter: Adapter, **options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """A plain client of *adapter*'s server."""
    app = make_app(adapter, name="x", **options)
    async with running(app) as address, aiohttp.ClientSession(address) as client:
        yield client


async def test_a_completion_looks_like_openais() -> None:
    async with _asking(ExtractiveAdapter()) as client:
        messages = [
            {"role": "developer", "content": "The harbour opened in 1952."},
            {"role": "user", "content": [{"type": "text", "text": "When did the harbour open?"}]},
        ]
        async with client.post(
            "/v1/chat/completions", json={"model": "any", "messages": messages}
        ) as response:
            answer = await response.json()

    created = answer.pop("created")
    assert created > 1_600_000_000
    assert answer == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "x",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "The harbour opened in 1952."},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        "passages": [{"id": "p1", "title": "", "text": "The harbour opened in 1952."}],
    }


def _messages(question: str, system: str = "S.") -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": question}]}


async def test_the_systems_own_usage_is_passed_on() -> None:
    async with (
        _asking(Counting()) as client,
        client.post("/v1/chat/completions", json=_messages("Q?")) as response,
    ):
        assert (await response.json())["usage"]["total_tokens"] == 10


async def test_a_text_is_looked_at_once_however_many_turns_are_about_it() -> None:
    adapter = Counting()
    async with _asking(adapter) as client:
        for system in ("S.", "S.", "T.", "S."):
            async with client.post("/v1/chat/completions", json=_messages("Q?", system)) as response:
                assert response.status == 200
        assert (adapter.opened, adapter.closed) == (2, 0)

    assert adapter.closed == 2


async def test_no_more_than_its_capacity_is_asked_at_a_time() -> None:
    adapter = Counting()
    adapter.may_answer.clear()
    async with _asking(adapter, capacity=3) as client:

        async def ask(path: str, body: Any) -> int:
            async with client.post(path, json=body) as response:
                return response.status

        asks = [asyncio.create_task(ask("/v1/chat/completions", _messages("Q?"))) for _ in range(5)]
        asks += [asyncio.create_task(ask("/chat", {"question": "Q?"})) for _ in range(5)]
        while adapter.inside < 3:
            await asyncio.sleep(0)
        async with client.get("/health") as response:  # is not queued behind asks
            assert await response.json() == {"status": "ok"}
        adapter.may_answer.set()
        assert await asyncio.gather(*asks) == [200] * 10

    assert adapter.most == 3


@asynccontextmanager
async def _no_sleep() -> AsyncIterator[list[float]]:
    """How long sleeps would have been, of which each is over at once."""
    slept: list[float] = []
    sleep = asyncio.sleep

    async def noted(delay_s: float, *rest: Any) -> None:
        slept.append(delay_s)
        await sleep(0)

    with patch.object(asyncio, "sleep", noted):
        yield slept


async def test_a_delay_comes_before_each_answer() -> None:
    async with _asking(ScriptedAdapter(), delay_s=0.25) as client, _no_sleep() as slept:
        await client.post("/chat", json={"question": "Q?"})
        await client.post("/v1/chat/completions", json=_messages("Q?"))

    assert slept.count(0.25) == 2


def _streamed(question: str, **more: Any) -> dict[str, Any]:
    return {**_messages(question, "The harbour opened in 1952."), "stream": True, **more}


async def test_a_streamed_completion_looks_like_openais() -> None:
    asked = _streamed("When did the harbour open?", stream_options={"include_usage": True})
    async with (
        _asking(ExtractiveAdapter()) as client,
        client.post("/v1/chat/completions", json=asked) as response,
    ):
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        text = await response.text()

    assert text.endswith("\n\ndata: [DONE]\n\n")
    *events, end = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
    *words, last, usage = [json.loads(event) for event in events]
    assert end == "[DONE]"
    assert {(each["id"], each["object"], each["model"]) for each in words} == {
        ("chatcmpl-1", "chat.completion.chunk", "x")
    }
    assert [each["choices"][0]["delta"].get("content") for each in words] == [
        "The", " harbour", " opened", " in", " 1952.",
    ]  # fmt: skip
    assert [each["choices"][0]["delta"].get("role") for each in words] == ["assistant"] + [None] * 4
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert last["passages"] == [{"id": "p1", "title": "", "text": "The harbour opened in 1952."}]
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


async def test_a_delay_comes_between_the_words_of_a_stream() -> None:
    async with (
        _asking(ExtractiveAdapter(), delay_s=0.25, chunk_delay_s=0.125) as client,
        _no_sleep() as slept,
        client.post("/v1/chat/completions", json=_streamed("When did it open?")) as response,
    ):
        words = (await response.text()).count('"content"')

    assert slept.count(0.25) == 1
    assert slept.count(0.125) == words + 1  # between words, finish reason and end


async def test_a_place_is_taken_to_the_end_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()
    sleep = asyncio.sleep

    async def held(delay_s: float, *rest: Any) -> None:
        await (go_on.wait() if delay_s == 7.5 else sleep(0))

    async with _asking(ExtractiveAdapter(), chunk_delay_s=7.5, capacity=1) as client:
        monkeypatch.setattr(asyncio, "sleep", held)
        async with client.post("/v1/chat/completions", json=_streamed("When did it open?")) as first:
            await first.content.readany()  # its stream has begun
            second = asyncio.create_task(
                client.post("/v1/chat/completions", json=_messages("When did it open?"))
            )
            while True:
                async with client.get("/stats") as response:
                    if (await response.json())["asks"]["/v1/chat/completions"] == 2:
                        break
            assert not second.done()
            go_on.set()
            assert (await first.text()).endswith("[DONE]\n\n")
        async with await second as response:
            assert response.status == 200
        monkeypatch.undo()


async def test_a_client_that_leaves_in_the_middle_of_a_stream_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with _asking(ExtractiveAdapter(), chunk_delay_s=0.001, capacity=1) as client:
        async with client.post("/v1/chat/completions", json=_streamed("When did it open?")) as response:
            await response.content.readany()
            response.close()
        async with client.post("/v1/chat/completions", json=_messages("When did it open?")) as response:
            assert response.status == 200  # its place is free again

    assert not caplog.records


async def test_a_failure_before_a_stream_is_a_status() -> None:
    script = ScriptedAdapter(faults=[ScriptedFault(kind="rate-limited")])
    async with (
        _asking(script) as client,
        client.post("/v1/chat/completions", json=_streamed("Q?")) as response,
    ):
        assert response.status == 429


async def test_what_was_asked_is_counted_by_endpoint() -> None:
    async with _asking(ScriptedAdapter()) as client:
        for _ in range(2):
            await client.post("/chat", json={"question": "Q?"})
        await client.post("/v1/chat/completions", json=_messages("Q?"))
        async with client.get("/stats") as response:
            assert await response.json() == {"asks": {"/chat": 2, "/v1/chat/completions": 1}, "sessions": 2}
        async with client.get("/v1/models") as response:
            assert [model["id"] for model in (await response.json())["data"]] == ["x"]


async def test_a_bad_request_is_told_in_openais_shape() -> None:
    async with (
        _asking(ScriptedAdapter()) as client,
        client.post("/v1/chat/completions", json={"messages": []}) as response,
    ):
        assert response.status == 400
        assert await response.json() == {
            "error": {
                "message": "messages: the last is not the user's, nor a tool's result, so there is nothing "
                "to answer",
                "type": "invalid_request_error",
                "param": None,
                "code": 400,
            }
        }


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
async def test_a_body_that_is_not_json_is_a_bad_request(body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with (
        _asking(ScriptedAdapter()) as client,
        client.post("/chat", data=body, headers=headers) as response,
    ):
        assert response.status == 400
        assert re.search("not JSON|got `array`", (await response.json())["error"]["message"])


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/health", 405)])
async def test_a_wrong_address_is_told_in_openais_shape(path: str, status: int) -> None:
    async with _asking(ScriptedAdapter()) as client, client.post(path) as response:
        assert response.status == status
        assert (await response.json())["error"]["code"] == status


async def test_a_bug_is_a_500_and_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async with _asking(Counting()) as client:
        for path, body in (("/v1/chat/completions", _messages("break")), ("/chat", {"question": "break"})):
            async with client.post(path, json=body) as response:
                assert response.status == 500
        async with client.post("/v1/chat/completions", json=_messages("Q?")) as response:
            assert response.status == 200
    assert "ZeroDivisionError" in caplog.text


async def test_an_unknown_session_is_not_taken_for_a_new_one() -> None:
    """A session that was forgotten must not go on as if nothing had been said."""
    async with (
        _asking(ScriptedAdapter()) as client,
        client.post("/chat", json={"question": "Q?", "session_id": "gone"}) as response,
    ):
        assert response.status == 404


async def test_turns_of_one_chat_go_one_by_one() -> None:
    adapter = Counting()
    async with _asking(adapter) as client:
        async with client.post("/chat", json={"question": "Q?"}) as response:
            id = (await response.json())["session_id"]
        adapter.most = 0
        bodies = [{"question": f"Q{n}?", "session_id": id} for n in range(5)]
        await asyncio.gather(*(client.post("/chat", json=body) for body in bodies))

    assert adapter.most == 1


async def test_serving_ends_when_cancelled_and_tells_its_address_before() -> None:
    addresses: asyncio.Queue[str] = asyncio.Queue()
    app = make_app(ExtractiveAdapter(), name="x")
    server = asyncio.create_task(serve(app, port=0, ready=addresses.put_nowait))
    address = await addresses.get()
    assert address.startswith("http://127.0.0.1:")
    async with aiohttp.ClientSession(address) as client, client.get("/health") as response:
        assert response.status == 200

    taken = int(address.rpartition(":")[2])
    with pytest.raises(InputError, match=f"can't listen on 127.0.0.1:{taken} .*choose another port"):
        await serve(make_app(ExtractiveAdapter(), name="x"), port=taken)

    server.cancel()
    with pytest.raises(asyncio.CancelledError):
        await server


@pytest.mark.parametrize(
    "options", [{"delay_s": -1.0}, {"delay_s": float("inf")}, {"chunk_delay_s": -1.0}, {"capacity": 0}]
)
def test_a_setting_that_cannot_work_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        make_app(ScriptedAdapter(), name="x", **options)


def test_nothing_here_needs_a_built_in_adapter() -> None:
    """Adapters come through their entry points; the server is for any of them."""
    files = list((Path(__file__).parents[3] / "replay" / "cli" / "serving").glob("*.py"))
    assert files
    assert not [path for path in files if "replay_adapters" in path.read_text()]
