"""Tools that a system says it called by itself, over every kind of wire."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from aiohttp import web

from replay import Message, ToolCall
from replay.runs.launch import run_async
from replay_adapters.json_reply import steps_of
from tests.adapters.servers import answering, event


def _called(arguments: str = "{}", id: str = "call_1", text: str = "") -> Message:
    return Message(
        role="assistant", text=text, tool_calls=(ToolCall(id=id, name="stock", arguments=arguments),)
    )


def _returned(text: str, id: str = "call_1") -> Message:
    return Message(role="tool", text=text, tool_call_id=id, name="stock")


FUNCTION = {"name": "stock", "arguments": '{"size": 42}'}


@pytest.mark.parametrize(
    ("items", "steps"),
    [
        ([{"name": "stock"}], (_called(),)),
        (
            [{"name": "stock", "args": {"size": 42}, "output": {"pairs": 3}}],
            (_called('{"size":42}'), _returned('{"pairs":3}')),
        ),
        ([{"type": "tool_use", "id": "a", "name": "stock", "input": {}}], (_called(id="a"),)),
        (
            [
                {"role": "assistant", "content": "Wait.", "tool_calls": [{"id": "a", "function": FUNCTION}]},
                {"role": "tool", "tool_call_id": "a", "content": "3"},
            ],
            (_called(FUNCTION["arguments"], "a", "Wait."), _returned("3", "a")),
        ),
        (
            [{"name": "stock", "result": "3"}, {"name": "stock", "result": 0}],
            (_called(), _returned("3"), _called(id="call_2"), _returned("0", "call_2")),
        ),
        (  # AG-UI streams the arguments of calls, here of two at once
            [
                {"id": "a", "name": "stock"},
                {"id": "b", "name": "stock"},
                {"id": "a", "arguments": '{"size"'},
                {"id": "b", "arguments": "{}"},
                {"id": "a", "arguments": ": 42}"},
            ],
            (_called('{"size": 42}', "a"), _called(id="b")),
        ),
        ([_called(), _returned("3")], (_called(), _returned("3"))),
        ([], ()),
    ],
)  # fmt: skip
def test_steps_are_messages_or_calls_with_their_results(items: Any, steps: tuple[Message, ...]) -> None:
    assert steps_of(items) == steps


@pytest.mark.parametrize(
    "item",
    [{"id": "a", "arguments": "{}"},
     "stock", 5, None, {}, {"name": 5}, {"role": "user", "content": "Q"}, {"role": 5, "name": "stock"},
     {"role": "assistant", "tool_calls": [{}]}, {"role": "assistant", "tool_calls": "stock"}],
)  # fmt: skip
def test_what_is_no_step_is_none(item: Any) -> None:
    assert steps_of([{"name": "stock"}, item]) is None


CALL = {"name": "stock", "arguments": {"size": 42}, "result": "3 pairs"}
STEPS = (_called('{"size":42}'), _returned("3 pairs"))
TALK = {"id": "a", "turns": [{"question": "Red ones?", "gold_answer": "Yes."}, {"question": "Which?"}]}


async def played(tmp_path, adapter, settings):
    (tmp_path / "talks.jsonl").write_text(json.dumps(TALK) + "\n")
    content = {
        "name": "steps",
        "data": {"path": str(tmp_path / "talks.jsonl")},
        "systems": [{"name": "s", "adapter": adapter, "settings": settings}],
        "policies": ["pred"],
        "drift": {"nlp_workers": 0},
        "play": {"attempts": 1},
    }
    return (await run_async(content, runs=tmp_path / "runs")).records()


ANSWER = {"answer": "Yes.", "made": [CALL]}
HTTP = {"body": {"m": "{{ messages }}"}, "answer": "answer", "steps": "made"}


async def test_over_http_they_are_in_the_record_and_in_the_history(tmp_path):
    sent = []

    async def handler(request):
        sent.append((await request.json())["m"])
        return web.json_response(ANSWER)

    async with answering(handler) as address:
        records = await played(tmp_path, "http", {"url": address, **HTTP})

    assert [record.steps for record in records] == [STEPS, STEPS]
    assert [message["role"] for message in sent[1]] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[1][1]["tool_calls"][0]["function"] == {"name": "stock", "arguments": '{"size":42}'}
    assert sent[1][2] == {"role": "tool", "content": "3 pairs", "tool_call_id": "call_1", "name": "stock"}


async def test_in_a_stream_they_come_event_by_event(tmp_path):
    async def handler(request):
        events = (event({"made": CALL}), event({"piece": "Yes."}), event({"made": [CALL | {"result": "2"}]}))
        return web.Response(body=b"".join(events), content_type="text/event-stream")

    streamed = {"stream": "sse", "piece": "piece", "answer": None, "steps": "!piece && made"}
    async with answering(handler) as address:
        records = await played(tmp_path, "http", {"url": address, **HTTP, **streamed})

    again = _called('{"size":42}', "call_2"), _returned("2", "call_2")
    assert records[0].steps == STEPS + again


async def test_what_is_no_step_is_a_bad_reply(tmp_path):
    async def handler(request):
        return web.json_response(ANSWER | {"made": ["stock"]})

    async with answering(handler) as address:
        record, *_ = await played(tmp_path, "http", {"url": address, **HTTP})

    assert record.outcome == "bad-reply"
    assert 'steps "made" gives something else than calls of tools' in record.error


async def test_over_a_web_socket(tmp_path):
    async def handler(request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for _ in socket:
            await socket.send_json({"made": CALL})
            await socket.send_json(ANSWER)
        return socket

    async with answering(handler) as address:
        settings = {
            "url": address.replace("http", "ws"),
            "send": {"q": "{{ question }}"},
            "answer": "answer",
            "steps": "made",
            "history": "client",
        }
        records = await played(tmp_path, "websocket", settings)

    assert [len(record.steps) for record in records] == [4, 4]
    assert records[0].steps[:2] == STEPS


async def test_of_a_program(tmp_path):
    (tmp_path / "bot.py").write_text(f"for _ in iter(input, None):\n    print({json.dumps(ANSWER)!r})\n")
    settings = {"command": [sys.executable, str(tmp_path / "bot.py")], "steps": "made"}
    records = await played(tmp_path, "command", settings)

    assert records[0].steps == STEPS


async def test_of_a_function(tmp_path):
    (tmp_path / "bot.py").write_text(
        "def answer(question):\n"
        f"    return {{'text': 'Yes.', 'steps': [{CALL!r}] if 'Red' in question else 5}}\n"
    )
    first, second = await played(tmp_path, "python", {"target": f"{tmp_path / 'bot.py'}:answer"})

    assert first.steps == STEPS
    assert second.outcome == "bad-reply"
    assert "returned steps that are not a list of calls of tools" in second.error
