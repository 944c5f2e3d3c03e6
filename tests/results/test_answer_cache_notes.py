"""``play.cache``: what was asked before in all its parts is answered from disk, whichever run asked it."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web

from replay import Run, run_async
from replay.core.safety.redaction import keep_secret
from replay.runs.rerun import rerun_async
from replay.store.page_queries import RunBrowser
from replay.testing.fakes import ChatServer, chat_server
from tests.adapters.servers import answering

TALK = {
    "id": "c",
    "title": "Harbour",
    "turns": [
        {"question": "Who?", "gold_answers": ["Mira."]},
        {"question": "Where?", "gold_answers": ["Here."]},
    ],
}


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with chat_server() as running:
        yield running


async def played(
    folder: Path,
    server: ChatServer,
    *,
    talk: Any = TALK,
    settings: Any = None,
    play: Any = None,
    system: Any = None,
    **more: Any,
) -> Run:
    """A run with answers kept in the folder's ``kept``."""
    data = folder / f"talk-{uuid4()}.jsonl"  # another run may be reading its own
    data.write_text(json.dumps(talk) + "\n", "utf-8")
    entry = server.system
    scenario = {
        "name": "kept",
        "data": {"path": str(data)},
        "systems": [{**entry, "settings": {**entry["settings"], **(settings or {})}, **(system or {})}],
        "policies": ["gold"],
        "scorers": ["em", "latency", "cost", "completion_tokens"],
        "play": {"cache": str(folder / "kept"), "attempts": 1, **(play or {})},
        **more,
    }
    return await run_async(scenario, runs=folder / "runs")


def facts(run: Run) -> list[tuple[Any, ...]]:
    return [(r.outcome, r.answer, r.cached, r.attempts, r.timing is None) for r in run.records()]


async def test_a_second_run_asks_nothing(tmp_path: Path, server: ChatServer) -> None:
    first = await played(tmp_path, server)
    assert [cached for _, _, cached, *_ in facts(first)] == [False, False]
    assert server.asked.total() == 2

    second = await played(tmp_path, server)

    assert server.asked.total() == 2
    assert facts(second) == [
        ("answered", "Answer to Who?", True, 0, True),
        ("answered", "Answer to Where?", True, 0, True),
    ]
    assert "server: 2 of 2 answers came from the cache" in " ".join(second.report().remarks)
    assert not any("cache" in note for note in first.report().remarks)


async def test_a_header_may_choose_the_model_and_so_asks_anew(tmp_path: Path, server: ChatServer) -> None:
    for tenant in "aba":
        await played(tmp_path, server, settings={"headers": {"X-Tenant": tenant}})

    assert server.asked == {"Who?": 2, "Where?": 2}


async def test_policies_share_what_they_ask_alike(tmp_path: Path, server: ChatServer) -> None:
    """Also at the same time: the first question of a conversation is one request, whoever puts it."""
    await played(tmp_path, server, policies=["gold", {"pred": {"detect": False}}])

    assert server.asked == {"Who?": 1, "Where?": 2}


async def test_times_and_money_are_left_out_and_tokens_stay(tmp_path: Path, server: ChatServer) -> None:
    async def answer(_: web.Request) -> web.Response:
        usage = {"prompt_tokens": 10, "completion_tokens": 20}
        return web.json_response({"choices": [{"message": {"content": "Yes."}}], "usage": usage})

    priced = {"prices": {"prompt_usd": 1, "completion_usd": 2}}
    async with answering(answer) as address:
        more: Any = {"system": priced, "settings": {"base_url": address}}
        first, second = [await played(tmp_path, server, **more) for _ in range(2)]

    assert [r.cost_usd for r in first.records()] == [pytest.approx(50e-6)] * 2
    assert [r.cost_usd for r in second.records()] == [0.0, 0.0]
    (group,) = second.report().table.groups
    scores = group.total.scores
    assert dict(scores["latency"].unscored) == {"answer from the cache": 2}
    assert dict(scores["cost"].unscored) == {"answer from the cache": 2}
    assert scores["completion_tokens"].value == 20
    assert group.total.latency_p50_s is None
    with closing(RunBrowser(second.folder)) as browser:
        (row,) = browser.outcomes()
    assert (row.attempts, row.cost_usd, row.completion_tokens) == (0, 0.0, None)
    assert second.turns()["cached"].all()


async def test_a_rerun_asks_and_keeps_the_new_answer(tmp_path: Path, server: ChatServer) -> None:
    run = await played(tmp_path, server)
    server.answers["Who?"] = "Somebody else."

    again = await rerun_async(run.folder, ["depth=1"])
    assert [r.answer for r in again.records()] == ["Somebody else.", "Answer to Where?"]

    third = await played(tmp_path, server)
    assert [r.answer for r in third.records()] == ["Somebody else.", "Answer to Where?"]
    assert server.asked == {"Who?": 2, "Where?": 1}


async def test_the_file_is_its_owners_and_holds_no_key_and_no_question(
    tmp_path: Path, server: ChatServer
) -> None:
    keep_secret("sk-kept-answers-4711")
    server.answers["Who?"] = "My key is sk-kept-answers-4711."
    await played(tmp_path, server)

    path = tmp_path / "kept" / "answers.db"
    content = path.read_bytes()
    assert b"My key is ***" in content
    assert b"sk-kept-answers-4711" not in content
    assert b"Who?" not in content.replace(b"Answer to Who?", b"")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_cache_that_fails_is_said_and_stops_nothing(tmp_path: Path, server: ChatServer) -> None:
    await played(tmp_path, server)
    with sqlite3.connect(tmp_path / "kept" / "answers.db") as db:
        db.execute("DROP TABLE entry")

    run = await played(tmp_path, server)

    assert [outcome for outcome, *_ in facts(run)] == ["answered", "answered"]
    assert server.asked.total() == 4
    assert "Answers were not kept for the next run, or not found again: the cache" in " ".join(
        run.report().remarks
    )


async def test_what_cannot_be_read_is_asked_again(tmp_path: Path, server: ChatServer) -> None:
    await played(tmp_path, server)
    with sqlite3.connect(tmp_path / "kept" / "answers.db") as db:
        db.execute("UPDATE entry SET value = '[]'")

    await played(tmp_path, server)

    assert server.asked.total() == 4
