"""Replies as they came: kept where that is asked for, without keys, and cut where they are long."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from replay import AdapterReplyError, ChatReply, ChatRequest, Conversation, Run, ScenarioError, run_async
from replay.cli import app
from replay.core.adapter import RawReply
from replay.core.safety.redaction import keep_secret
from replay.store.store import RunStore
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from tests.adapters.servers import answering, event, streamed

KEY = "sk-raw-replies-0815-4711"
TALK = {
    "id": "c",
    "turns": [
        {"question": "Who?", "gold_answers": ["Mira."]},
        {"question": "Where?", "gold_answers": ["Here."]},
    ],
}


def _answer(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}}], "key": KEY, "own": "field"}


class Model:
    """Answers, save that it refuses the second question's first ask, and its third is no JSON."""

    def __init__(self) -> None:
        self.asks = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asks += 1
        body = await request.json()
        if self.asks == 2:
            return web.json_response({"error": f"busy, {KEY}"}, status=503)
        if body.get("stream"):
            return await streamed(
                request, event({"choices": [{"delta": {"content": "Ja."}, "finish_reason": "stop"}]})
            )
        return web.json_response(_answer("Yes."))


@asynccontextmanager
async def _run(folder: Path, *, play: Any = None, load: Any = None, **system: Any) -> AsyncIterator[Run]:
    (folder / "talk.jsonl").write_text(json.dumps(TALK) + "\n", "utf-8")
    keep_secret(KEY)
    settings = system.pop("settings", {})
    async with answering(Model().handle) as address:
        scenario = {
            "name": "raw",
            "data": {"path": str(folder / "talk.jsonl")},
            "systems": [
                {
                    "name": "m",
                    "adapter": "openai",
                    "settings": {"base_url": address, "model": "m", **settings},
                    **system,
                }
            ],
            "policies": ["gold"],
            "play": {"backoff_s": 0, **(play or {})},
            **({"load": load} if load else {}),
        }
        yield await run_async(scenario, runs=folder / "runs")


def _kept(run: Run) -> list[RawReply]:
    return list(run.raw_replies())


async def test_every_attempt_is_kept_as_it_came_but_for_keys(tmp_path: Path) -> None:
    async with _run(tmp_path, play={"keep_raw": True}) as run:
        kept = _kept(run)

    assert [(r.depth, r.attempt, r.outcome) for r in kept] == [
        (1, 1, "answered"),
        (2, 1, "refused"),
        (2, 2, "answered"),
    ]
    assert json.loads(kept[0].data) == _answer("Yes.") | {"key": "***"}
    assert json.loads(kept[1].data) == {"error": "busy, ***"}
    assert KEY.encode() not in (run.folder / "run.db").read_bytes()


async def test_a_stream_is_kept_with_its_events(tmp_path: Path) -> None:
    async with _run(tmp_path, play={"keep_raw": True}, settings={"stream": True}) as run:
        first = _kept(run)[0]

    assert first.data.startswith(b"data: {")
    assert b"finish_reason" in first.data


async def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    async with _run(tmp_path) as run:
        assert _kept(run) == []


@pytest.mark.parametrize(("play", "system", "count"), [(True, False, 0), (False, True, 3)])
async def test_a_system_may_say_otherwise(tmp_path: Path, play: bool, system: bool, count: int) -> None:
    async with _run(tmp_path, play={"keep_raw": play}, keep_raw=system) as run:
        assert len(_kept(run)) == count


async def test_what_is_longer_than_the_limit_is_cut_and_says_so(tmp_path: Path) -> None:
    async with _run(tmp_path, play={"keep_raw": True, "raw_limit_bytes": 20}) as run:
        first = _kept(run)[0]

    whole = json.dumps(_answer("Yes.") | {"key": "***"}).encode()
    assert first.data == whole[:20]
    assert first.cut_bytes == len(whole) - 20


async def test_under_load_it_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="replies can't be kept under load"):
        async with _run(
            tmp_path, play={"keep_raw": True}, load={"profile": "closed", "concurrency": 1, "turns": 1}
        ):
            pass


async def test_they_are_exported_as_json_lines(tmp_path: Path) -> None:
    async with _run(tmp_path, play={"keep_raw": True}) as run:
        pass
    out = tmp_path / "raw.jsonl"

    done = CliRunner().invoke(app, ["export", str(run.folder), "--table", "raw", "--out", str(out)])

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(line["depth"], line["attempt"], line["outcome"]) for line in lines] == [
        (1, 1, "answered"),
        (2, 1, "refused"),
        (2, 2, "answered"),
    ]
    assert json.loads(lines[0]["text"])["own"] == "field"


async def test_bytes_that_are_no_text_come_back_unchanged(tmp_path: Path) -> None:
    async with _run(tmp_path) as run:
        pass
    data = bytes(range(256)) * 3
    store = RunStore(run.folder, write=True)
    reply = RawReply(
        conversation="c\ud800", system="m", policy="gold", depth=1, attempt=1, outcome="answered", data=data
    )
    store.add_raw(reply, most_bytes=1000)
    store.close()

    (kept,) = _kept(run)

    assert kept.data == data
    assert kept.conversation == "c\ud800"
    assert kept.asked_at.startswith("20")


async def _reply(address: str, **settings: Any) -> ChatReply:
    request = ChatRequest(question="Q?", history=(), depth=1, keep_raw=True)
    async with (
        HttpAdapter(url=f"{address}/ask", answer="text", **settings) as adapter,
        adapter.session(Conversation(id="c", turns=())) as session,
    ):
        return await session.ask(request)


async def test_http_keeps_the_reply_that_has_the_answer() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.method == "POST":
            return web.json_response({"state": "new"}, headers={"Location": "/job"})
        return web.Response(text='{"state": "done", "text": "Yes."}  ')

    async with answering(handler) as address:
        polled = await _reply(address, poll=Poll(until="state == 'done'", every_s=0.01))

    assert polled.raw == b'{"state": "done", "text": "Yes."}  '


@pytest.mark.parametrize("settings", [{}, {"poll": Poll(until="done")}], ids=["at once", "polled"])
async def test_http_keeps_a_reply_that_can_not_be_read(settings: dict[str, Any]) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="<html>no</html>")

    async with answering(handler) as address:
        with pytest.raises(AdapterReplyError) as caught:
            await _reply(address, **settings)

    assert caught.value.raw == b"<html>no</html>"
