"""Runs that stop since a system refuses our key or fails again and again, and go on when that is mended."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console

from replay.core.errors import RunStoppedError, ScenarioError
from replay.report.text import print_load
from replay.results.run import Run, newest_run
from replay.runs.launch import load_scenario, resume_async, run_async
from replay.store.store import RunStore
from tests.adapters.servers import answering, completion, in_a_thread
from tests.cli.command import replay_cli
from tests.waiting import PATIENCE_S

TALKS = 12
TURNS = 3
KEY = "DESK_KEY"


class Desk:
    """A chat system that can be broken and mended."""

    def __init__(self) -> None:
        self.address = ""
        self.key: str | None = None
        """The one it wants, if any."""
        self.answers_left: int | None = None
        """How many questions are answered before it fails; None for all."""
        self.wait_for = 0
        """So many have to ask at a time; the first is answered then, the others never."""
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.left = 0
        """Who went away before there was an answer."""

    async def chat(self, request: web.Request) -> web.Response:
        question = (await request.json())["messages"][-1]["content"]
        self.asked[question] += 1
        if self.wait_for:
            await self._wait()
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": "wrong key"}, status=401)
        if self.answers_left is not None:
            if self.answers_left == 0:
                return web.json_response({"error": "out of memory"}, status=500)
            self.answers_left -= 1
        self.answered[question] += 1
        return web.json_response(completion(f"Answer to {question}"))

    async def _wait(self) -> None:
        is_first = self.asked.total() == 1
        try:
            while is_first and self.asked.total() < self.wait_for:
                await asyncio.sleep(0)
            if not is_first:
                await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.left += 1
            raise


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    async with answering(desk.chat) as address:
        desk.address = address
        yield desk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    talks = [
        {
            "id": f"talk{n}",
            "turns": [
                {"question": f"Question {n}-{depth}?", "gold_answer": "Mira."} for depth in range(TURNS)
            ],
        }
        for n in range(TALKS)
    ]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return tmp_path


def scenario(folder: Path, desk: Desk, *, keyed: bool = False, **changes: Any) -> dict[str, Any]:
    settings = {"base_url": f"{desk.address}/v1", "model": "m", **({"api_key_env": KEY} if keyed else {})}
    return {
        "name": "try",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": [{"name": "library desk", "adapter": "openai", "settings": settings}],
        "policies": ["gold"],
        "drift": {"nlp_workers": 0},
        **changes,
    }


async def stopped(content: dict[str, Any], folder: Path) -> tuple[Run, str]:
    """The run, which has to stop, and what is said about that."""
    with pytest.raises(RunStoppedError) as caught:
        async with asyncio.timeout(PATIENCE_S):
            await run_async(content, runs=folder / "runs")
    return Run(newest_run(folder / "runs")), str(caught.value)


def events(run: Run, kind: str) -> list[Any]:
    store = RunStore(run.folder)
    try:
        return store.events(kind)
    finally:
        store.close()


async def test_a_refused_key_stops_the_run_at_its_first_ask_and_is_asked_again_when_mended(
    desk, folder, monkeypatch
):
    desk.key = "right"
    monkeypatch.setenv(KEY, "wrong")
    run, said = await stopped(scenario(folder, desk, keyed=True, play={"concurrency": 1}), folder)

    assert desk.asked.total() == 1
    assert 'system "library desk"' in said
    assert f"set the environment variable {KEY} to a key that is valid there" in said
    assert said.endswith(f"go on with: replay resume {run.folder}")
    assert run.records() == []
    assert not run.state().finished
    assert len(events(run, "stopped")) == 1

    monkeypatch.setenv(KEY, "right")
    run = await resume_async(run.folder)
    assert Counter(record.outcome for record in run.records()) == {"answered": TALKS * TURNS}
    assert set(desk.answered.values()) == {1}
    assert run.state().finished


async def test_asks_under_way_are_given_up_when_the_key_is_refused(desk, folder, monkeypatch):
    desk.key, desk.wait_for = "right", 8
    monkeypatch.setenv(KEY, "wrong")
    run, _ = await stopped(scenario(folder, desk, keyed=True, play={"concurrency": 8}), folder)

    while desk.left < 7:
        await asyncio.sleep(0)
    assert desk.asked.total() == 8
    assert run.records() == []


async def test_failures_in_a_row_stop_the_run_and_the_rest_is_asked_when_mended(desk, folder):
    desk.answers_left = 4
    content = scenario(folder, desk, play={"concurrency": 1, "attempts": 1, "stop_after": 3})
    run, said = await stopped(content, folder)

    assert 'system "library desk" brought 3 failures in a row (play.stop_after)' in said
    assert "answered 500" in said
    assert "its log may say more" in said
    assert desk.asked.total() == 4 + 3
    assert [record.outcome for record in run.records()] == ["answered"] * 4 + ["refused"] * 3

    desk.answers_left = None
    run = await resume_async(run.folder)
    # Failed turns stay failed, and so end their conversations; all others were asked.
    counted = Counter(record.outcome for record in run.records())
    assert counted == {"answered": 4 + (TALKS - 4) * TURNS, "refused": 3}
    assert set(desk.answered.values()) == {1}


@pytest.mark.parametrize("number", [0, 2.5])
def test_a_limit_is_a_whole_number_of_failures(desk, folder, number):
    with pytest.raises(ScenarioError, match=r"play\.stop_after"):
        load_scenario(scenario(folder, desk, play={"stop_after": number}))


async def test_a_level_of_load_is_stopped_and_says_so(desk, folder):
    desk.answers_left = 40
    content = scenario(
        folder,
        desk,
        play={"stop_after": 5},
        load={"concurrency": 4, "duration_s": 60},
    )
    run, said = await stopped(content, folder)

    assert 'system "library desk" brought 5 failures in a row' in said
    assert said.endswith(f"look at it with: replay report {run.folder}")
    (level,) = run.load_summary().levels
    assert level.played.interrupted
    assert level.warnings[0].startswith('stopped: system "library desk" brought 5 failures in a row')
    outcomes = run.outcomes()
    assert outcomes["answered"] == 40
    assert 5 <= outcomes["refused"] <= 5 + 4
    report = StringIO()
    print_load(run.load_summary(), Console(width=120, file=report))
    assert 'stopped: system "library desk"' in " ".join(report.getvalue().split())


async def test_a_refused_key_stops_a_load_run_at_once(desk, folder, monkeypatch):
    desk.key = "right"
    monkeypatch.setenv(KEY, "wrong")
    load = {"concurrency": 4, "duration_s": 60}
    run, said = await stopped(scenario(folder, desk, keyed=True, load=load), folder)

    assert KEY in said
    assert desk.asked.total() <= 4
    assert run.records() == []


def test_the_command_line_ends_with_1_names_the_key_and_goes_on_with_resume(folder):
    desk = Desk()
    desk.key = "right"
    with in_a_thread(answering(desk.chat)) as desk.address:
        (folder / "try.yaml").write_text(json.dumps(scenario(folder, desk, keyed=True)))
        done = replay_cli("run", "try.yaml", cwd=folder, env={**os.environ, KEY: "wrong"})
        assert done.returncode == 1
        assert 'system "library desk"' in done.stderr
        assert f"set the environment variable {KEY}" in done.stderr
        assert "go on with: replay resume runs/try-" in done.stderr
        assert "Traceback" not in done.stderr
        assert "wrong" not in done.stderr.replace("wrong key", "")
        done = replay_cli("resume", cwd=folder, env={**os.environ, KEY: "right"})
        assert done.returncode == 0, done.stderr
    assert set(desk.answered.values()) == {1}
    assert len(desk.answered) == TALKS * TURNS
