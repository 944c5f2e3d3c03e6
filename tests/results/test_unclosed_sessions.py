"""Sessions that a system doesn't close: kept with the run and told in its report, and no turn's failure."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from replay import Run, run_async
from replay.report.notes import notes
from replay.store.store import RunStore
from tests.adapters.servers import answering
from tests.workers.inside import started_inside


async def _bot(request: web.Request) -> web.Response:
    """Opens any session and answers anything, but closes none of those about the harbour."""
    if request.method != "DELETE":
        body = await request.json()
        return web.json_response({"id": body.get("of"), "text": "Yes."})
    return web.Response(status=500 if "harbour" in request.path else 204, text="jammed")


@asynccontextmanager
async def _played(folder: Path, **more: Any) -> AsyncIterator[Run]:
    talks = [
        {"id": id, "turns": [{"question": "Who?", "gold_answers": ["Yes."]}]}
        for id in ("harbour", "museum", "pier")
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks), "utf-8")
    async with answering(_bot) as address:
        settings = {
            "url": f"{address}/ask",
            "body": {"question": "{{question}}"},
            "answer": "text",
            "open": {"url": f"{address}/open", "body": {"of": "{{conversation.id}}"}},
            "close": {"url": f"{address}/sessions/{{{{session_id}}}}"},
            "session_id": "id",
        }
        scenario = {
            "name": "unclosed",
            "data": {"path": str(folder / "talks.jsonl")},
            "systems": [{"name": "bot", "adapter": "http", "settings": settings}],
            "policies": ["pred", "replace"],
            **more,
        }
        yield await run_async(scenario, runs=folder / "runs")


async def test_what_could_not_be_closed_is_kept_and_told(tmp_path: Path) -> None:
    async with _played(tmp_path, play={"concurrency": 1}) as run:
        pass

    assert run.outcomes() == {"answered": 6}
    store = RunStore(run.folder)
    events = store.events("session-not-closed")
    store.close()
    assert [(event["system"], event["policy"], event["conversation"]) for event in events] == [
        ("bot", "pred", "harbour"),
        ("bot", "replace", "harbour"),
    ]
    told = [note for note in notes(run.report(resamples=0)) if note.startswith("bot: ")]
    assert len(told) == 1
    assert "2 sessions may still be open there; the first: the session could not be closed: DELETE" in told[0]
    assert "jammed" in told[0]


@pytest.mark.parametrize("workers", [1, 2])
async def test_under_load_a_level_counts_them(tmp_path: Path, workers: int, monkeypatch: Any) -> None:
    started_inside(monkeypatch)
    load = {"concurrency": 2, "conversations": 12, "workers": workers}
    async with _played(tmp_path, load=load, policies=[{"pred": {"detect": False}}]) as run:
        summary = run.load_summary(resamples=0)

    (level,) = summary.levels
    told = [warning for warning in level.warnings if "open at the system" in warning]
    assert level.played.unclosed == 4  # of three conversations in turn, one in three
    assert told[0].startswith(
        "4 sessions may still be open at the system; the first: bot: the session could not"
    )
