"""Each ask tells the system its place in a trace, whichever adapter it goes by."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from aiohttp import web

from replay.core.trace_ids import RunTraces
from replay.results.run import Run
from replay.runs.rerun import rerun_async
from tests.adapters.direct_line_server import DirectLineService
from tests.adapters.servers import answering, completion
from tests.scenario.keys import played, python, talk

TALKS = [talk("a", 2), talk("b", 2)]


class Listening:
    """A system of many kinds that says "Yes.", and the traceparents of what it was asked."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str | None]] = []
        """Path and header of each request."""

    async def reply(self, request: web.Request) -> web.StreamResponse:
        self.given.append((request.path, request.headers.get("traceparent")))
        if request.path == "/ws":
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            async for message in socket:
                self.given.append(("in a frame", json.loads(message.data).get("trace")))
                await socket.send_json({"answer": "Yes."})
            return socket
        block = {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "type": "message"}
        return web.json_response(
            {
                "/v1/chat/completions": completion("Yes."),
                "/v1/messages": {**block, "role": "assistant", "usage": {}},
                "/webhooks/rest/webhook": [{"text": "Yes."}],
            }.get(request.path, {"answer": "Yes.", "id": "1", "done": True})
        )

    def at(self, *paths: str) -> list[str | None]:
        return [header for path, header in self.given if path in paths]


def expected(run: Run, sample: float = 1.0) -> list[str]:
    """The traceparents of all records of *run*, each of one ask, by conversation and depth."""
    traces = RunTraces(run.id, sample)
    return [
        traces.of(r.conversation, r.system, r.policy).traceparent(r.depth, 0, r.started_at)
        for r in run.records()
    ]


BODY = {"q": "{{question}}", "trace": "{{ traceparent }}"}


@pytest.mark.parametrize(
    ("adapter", "settings", "paths"),
    [
        ("openai", {"base_url": "{at}/v1", "model": "m"}, ["/v1/chat/completions"]),
        ("anthropic", {"base_url": "{at}", "model": "m", "stream": False}, ["/v1/messages"]),
        ("rasa", {"base_url": "{at}"}, ["/webhooks/rest/webhook"]),
        ("http", {"url": "{at}/ask", "body": BODY, "answer": "answer"}, ["/ask"]),
        ("http", {"url": "{at}/ask", "body": BODY, "answer": "answer", "cookies": "session"}, ["/ask"]),
        ("websocket", {"url": "{ws}/ws", "send": BODY, "answer": "answer"}, ["/ws"]),
        ("websocket", {"url": "{ws}/ws", "send": BODY, "answer": "answer"}, ["in a frame"]),
    ],
)
async def test_an_ask_carries_its_place(tmp_path, adapter, settings, paths):
    server = Listening()
    async with answering(server.reply) as address:
        filled = json.loads(
            json.dumps(settings).replace("{at}", address).replace("{ws}", address.replace("http", "ws", 1))
        )
        run = await played(
            tmp_path, talks=TALKS, system={"adapter": adapter, "settings": filled}, telemetry={}
        )
    assert {record.answer for record in run.records()} == {"Yes."}
    assert sorted(server.at(*paths)) == sorted(expected(run))
    assert len({header.split("-")[1] for header in expected(run)}) == 2, "a conversation is a trace"


async def test_what_opens_a_session_belongs_to_its_first_ask_and_what_closes_it_to_none(tmp_path):
    server = Listening()
    async with answering(server.reply) as address:
        settings = {
            "url": f"{address}/ask",
            "body": {"q": "{{question}}"},
            "answer": "answer",
            "open": {"url": f"{address}/open"},
            "session_id": "id",
            "close": {"url": f"{address}/close"},
        }
        run = await played(
            tmp_path, talks=TALKS[:1], system={"adapter": "http", "settings": settings}, telemetry={}
        )
    first, second = expected(run)
    assert server.given == [("/open", first), ("/ask", first), ("/ask", second), ("/close", None)]


async def test_a_bot_behind_direct_line_gets_it_in_the_channel_data(tmp_path):
    """The channel hands no headers on."""
    seen: list[Any] = []

    async def bot(talk, asked):
        seen.append(asked["channelData"]["trace"])
        await talk.send(
            {"type": "message", "text": "Yes.", "inputHint": "expectingInput", "replyToId": asked["id"]}
        )

    async with DirectLineService(bot).running() as address:
        settings = {
            "base_url": address,
            "poll_s": 0.01,
            "quiet_s": 0.05,
            "channel_data": {"trace": "{{ traceparent }}"},
        }
        system = {"adapter": "botframework", "settings": settings}
        run = await played(tmp_path, talks=TALKS[:1], system=system, telemetry={})
    assert seen == expected(run)


async def test_code_here_has_it_in_the_request(tmp_path):
    bot = python(tmp_path, "def answer(request): return request.traceparent")
    run = await played(tmp_path, talks=TALKS[:1], system=bot, telemetry={})
    assert [record.answer for record in run.records()] == expected(run)


async def test_a_program_has_it_in_its_line(tmp_path):
    (tmp_path / "echo.py").write_text("for line in iter(input, None): print(line, flush=True)", "utf-8")
    settings = {"command": ["python", "echo.py"], "send": BODY, "answer": "trace"}
    system = {"adapter": "command", "settings": settings}
    run = await played(tmp_path, talks=TALKS[:1], system=system, telemetry={})
    assert [record.answer for record in run.records()] == expected(run)


async def test_each_ask_of_a_turn_with_tools_is_another_span(tmp_path):
    code = """
def answer(request):
    if len(request.steps) < 4:
        return {"text": request.traceparent, "tool_calls": [{"name": "more", "arguments": "{}"}]}
    return request.traceparent
"""
    run = await played(
        tmp_path,
        talks=[talk("a", 1)],
        system=python(tmp_path, code),
        tools={"results": [{"name": "more", "result": "here"}]},
        telemetry={},
    )
    (record,) = run.records()
    trace = RunTraces(run.id, 1.0).of("a", "s", record.policy)
    said = [message.text for message in record.steps if message.role == "assistant"]
    assert [*said, record.answer] == [trace.traceparent(1, ask, record.started_at) for ask in range(3)]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="several processes need Linux or macOS")
async def test_processes_that_share_a_load_send_the_ids_of_their_run(tmp_path):
    bot = python(tmp_path, "def answer(request): return request.traceparent")
    run = await played(tmp_path, system=bot, load={"conversations": 6, "workers": 2}, telemetry={})
    assert sorted(str(record.answer) for record in run.records()) == sorted(expected(run, 0.01))


async def test_an_answer_is_kept_whatever_its_trace(tmp_path):
    server = Listening()
    async with answering(server.reply) as address:
        settings = {"base_url": f"{address}/v1", "model": "m"}
        for _ in range(2):
            run = await played(
                tmp_path,
                system={"adapter": "openai", "settings": settings},
                telemetry={},
                play={"cache": "kept"},
            )
    assert [record.cached for record in run.records()] == [True] * 3
    assert len(server.given) == 3


async def test_a_turn_that_is_asked_again_is_another_span_of_the_same_trace(tmp_path):
    bot = python(tmp_path, "def answer(request): return request.traceparent")
    run = await played(tmp_path, talks=TALKS[:1], system=bot, telemetry={})
    before = expected(run)
    await rerun_async(run.folder, ["depth=2"])
    after = expected(run)
    assert [record.answer for record in run.records()] == after
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert after[1].split("-")[1] == before[1].split("-")[1]
