"""Sessions that a system doesn't close: kept with the run and told in its report, and no turn's failure."""

from __future__ import annotations

import json
from pathlib import Path

from aiohttp import web

from replay import run_async
from replay.report.notes import notes
from replay.store.store import RunStore
from tests.adapters.servers import answering


async def _bot(request: web.Request) -> web.Response:
    """Opens any session and answers anything, but closes none of those about the harbour."""
    if request.method != "DELETE":
        body = await request.json()
        return web.json_response({"id": body.get("of"), "text": "Yes."})
    return web.Response(status=500 if "harbour" in request.path else 204, text="jammed")


async def test_what_could_not_be_closed_is_kept_and_told(tmp_path: Path) -> None:
    talks = [
        {"id": id, "turns": [{"question": "Who?", "gold_answers": ["Yes."]}]}
        for id in ("harbour", "museum", "pier")
    ]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks), "utf-8")
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
            "data": {"path": str(tmp_path / "talks.jsonl")},
            "systems": [{"name": "bot", "adapter": "http", "settings": settings}],
            "policies": ["pred", "replace"],
            "play": {"concurrency": 1},
        }
        run = await run_async(scenario, runs=tmp_path / "runs")

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
