"""What servers say that they took, as the adapters read it over sockets: whole replies and streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replay import ServerTimes, WireTimes
from replay.core.adapter import Adapter
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.server_times import find_in_body, find_in_headers, plausible_times
from tests.adapters.asking import exchange
from tests.adapters.servers import completion, delta, event

# All below the millisecond by which a server may be beyond our own time, so that no clock decides.
VLLM = {
    "queue_time_ms": 0.25,
    "time_to_first_token_ms": 0.125,
    "generation_time_ms": 0.5,
    "mean_itl_ms": None,
}
VLLM_TIMES = ServerTimes(queue_s=0.00025, prefill_s=0.000125, decode_s=0.0005)
LLAMA = {"prompt_n": 8, "prompt_ms": 0.25, "predicted_ms": 0.5}
LLAMA_TIMES = ServerTimes(prefill_s=0.00025, decode_s=0.0005)
GROQ = {"queue_time": 0.0002, "prompt_time": 0.0001, "completion_time": 0.0003, "total_time": 0.0004}
GROQ_TIMES = ServerTimes(queue_s=0.0002, prefill_s=0.0001, decode_s=0.0003)
END = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


async def _asked(
    make: Callable[[str], Adapter], body: Any, events: tuple[bytes, ...], headers: Any
) -> ServerTimes | None:
    reply, _ = await exchange(make, events or body, headers=headers)
    assert reply.text == "Yes."
    assert reply.times is not None
    return reply.times.server


async def _openai(
    body: Any = None, *events: bytes, headers: Any = None, **settings: Any
) -> ServerTimes | None:
    settings |= {"model": "m", "stream": bool(events)}
    return await _asked(lambda address: OpenAIAdapter(base_url=address, **settings), body, events, headers)


async def _http(body: Any = None, *events: bytes, headers: Any = None, **settings: Any) -> ServerTimes | None:
    return await _asked(lambda address: HttpAdapter(url=address, body={}, **settings), body, events, headers)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"metrics": VLLM}, VLLM_TIMES),
        ({"timings": LLAMA}, LLAMA_TIMES),
        ({"usage": GROQ}, GROQ_TIMES),
        ({"time_info": GROQ}, ServerTimes(queue_s=0.0002, prefill_s=0.0001, decode_s=0.0003, total_s=0.0004)),
        ({"usage": {"timing_prompt_processing": 0.25, "timing_token_generation": 0.5}}, LLAMA_TIMES),
        ({"metrics": None, "usage": {"prompt_tokens": 3}}, None),
        ({"metrics": {"queue_time_ms": None}, "timings": LLAMA}, LLAMA_TIMES),
    ],
)
async def test_a_whole_chat_reply_has_the_times_of_its_body(more: Any, expected: ServerTimes | None) -> None:
    assert await _openai({**completion("Yes."), **more}) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([delta("Yes.", "stop"), event({**END, "metrics": VLLM})], VLLM_TIMES),
        ([delta("Yes.", timings={"prompt_ms": 9e9}), delta(None, "stop", timings=LLAMA)], LLAMA_TIMES),
        ([delta("Yes.", x_groq={"id": "r"}), delta(None, "stop", x_groq={"usage": GROQ})], GROQ_TIMES),
        ([delta("Yes.", "stop"), event(END)], None),
    ],
)
async def test_a_streamed_chat_reply_has_those_of_its_last_events(
    events: list[bytes], expected: ServerTimes | None
) -> None:
    assert await _openai(None, *events, event("[DONE]")) == expected


async def test_responses_have_them_too() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
    response = {"status": "completed", "output": [message], "metrics": VLLM}
    events = (
        event({"type": "response.output_text.delta", "delta": "Yes."}),
        event({"type": "response.completed", "response": response}),
    )

    assert await _openai(response, api="responses") == VLLM_TIMES
    assert await _openai(None, *events, api="responses") == VLLM_TIMES


@pytest.mark.parametrize(
    ("headers", "whole", "streamed"),
    [
        ({"openai-processing-ms": "31"}, {"total": (31.0, 1e-3)}, {}),
        ({"x-envoy-upstream-service-time": "9", "OpenAI-Processing-Ms": "7"}, {"total": (7.0, 1e-3)}, {}),
        (
            {"x-compute-type": "gpu", "x-queue-time": "2", "x-total-time": "40", "x-inference-time": "38"},
            {"queue": (2.0, 1e-3), "total": (40.0, 1e-3)},
            {"queue": (2.0, 1e-3)},
        ),
        ({"x-queue-time": "2"}, {}, {}),  # whose unit nobody knows
        (
            {"Server-Timing": 'cache;desc="a,;dur=9", Queue;dur=1.5, prompt;dur="2", db;dur=3, decode'},
            {"queue": (1.5, 1e-3), "prefill": (2.0, 1e-3)},
            {"queue": (1.5, 1e-3), "prefill": (2.0, 1e-3)},
        ),
        ({"Server-Timing": "total;dur=x"}, {"total": ("x", 1e-3)}, {}),
    ],
)
def test_headers_say_them_where_the_body_does_not(headers: Any, whole: Any, streamed: Any) -> None:
    """Those of a stream were sent before its end."""
    from multidict import CIMultiDict

    assert find_in_headers(CIMultiDict(headers), whole=True) == whole
    assert find_in_headers(CIMultiDict(headers), whole=False) == streamed


async def test_headers_of_several_lines_are_read_and_a_body_goes_before_them() -> None:
    from multidict import CIMultiDict

    headers = CIMultiDict([("Server-Timing", "cdn;dur=9"), ("Server-Timing", "total;dur=0.5")])

    assert await _openai(completion("Yes."), headers=headers) == ServerTimes(total_s=0.0005)
    assert await _openai({**completion("Yes."), "timings": LLAMA}, headers=headers) == LLAMA_TIMES


@pytest.mark.parametrize(
    "value", [-1, "12", True, [], {}, float("nan"), float("inf"), 10**400, 1e9, -float("inf")], ids=repr
)
async def test_a_value_that_cannot_be_is_dropped_and_counted(value: Any) -> None:
    times = await _openai({**completion("Yes."), "timings": {"prompt_ms": value, "predicted_ms": 0.5}})

    assert times == ServerTimes(decode_s=0.0005, dropped=1)


def test_parts_that_are_longer_together_than_the_ask_are_all_dropped() -> None:
    told = {"queue": (60, 1e-3), "prefill": (30, 1e-3), "decode": (30, 1e-3), "total": (90, 1e-3)}

    assert plausible_times(told, WireTimes(sent=1.0, done=1.1)) == ServerTimes(total_s=0.09, dropped=3)
    assert plausible_times(told, WireTimes(sent=1.0, done=1.119)) is not None
    assert plausible_times(told, WireTimes(sent=1.0, done=1.119)).dropped == 0  # whole milliseconds


async def test_the_http_adapter_reads_ollama_and_sglang() -> None:
    ollama = {
        "total_duration": 900_000,
        "load_duration": 1,
        "prompt_eval_duration": 2e5,
        "eval_duration": 5e5,
    }
    lines = [{"message": {"content": "Ye"}}, {"message": {"content": "s."}, "done": True, **ollama}]
    expected = ServerTimes(prefill_s=2e5 * 1e-9, decode_s=5e5 * 1e-9, total_s=900_000 * 1e-9)
    sglang = {"text": "Yes.", "meta_info": {"e2e_latency": 0.0005, "prompt_tokens": 3}}

    whole = await _http({"message": {"content": "Yes."}, **ollama}, answer="message.content")
    by_lines = await _http(
        None,
        *(event(line).removeprefix(b"data: ").removesuffix(b"\n") for line in lines),
        stream="json-lines",
        piece="message.content",
    )

    assert [whole, by_lines] == [expected, expected]
    assert await _http(sglang, answer="text") == ServerTimes(total_s=0.0005)


async def test_settings_of_the_http_adapter_say_where_other_systems_have_them() -> None:
    paths = {"queue_us": "took.wait", "total_s": "header: X-Took", "decode_ms": "took.none"}
    body = {"a": "Yes.", "took": {"wait": 200}, "timings": LLAMA}
    expected = ServerTimes(queue_s=200 * 1e-6, total_s=0.0005)

    assert await _http(body, answer="a", headers={"x-took": "0.0005"}, server_times=paths) == expected
    assert await _http(body, answer="a", server_times={"queue_ms": "nothing"}) is None
    named = b"event: end\ndata: " + event(body).removeprefix(b"data: ")
    settings = {"stream": "sse-named", "answer": "data.a", "server_times": {"queue_us": "data.took.wait"}}
    assert await _http(None, named, **settings) == ServerTimes(queue_s=200 * 1e-6)
    assert await _http(None, named, stream="sse-named", answer="data.a") == LLAMA_TIMES


@pytest.mark.parametrize("body", [None, "timings", [], {"timings": []}, {"x_groq": "?"}, {"usage": 3}])
def test_bodies_of_any_shape_say_nothing(body: Any) -> None:
    assert find_in_body(body) == {}
