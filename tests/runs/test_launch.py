"""From a scenario to a scored run, and back to it after a kill."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from aiohttp import web

import replay
from replay.core.errors import DatasetError
from replay.core.settings.choice import Choice
from replay.report.notes import notes
from replay.results.judging import score
from replay.results.run import Run, newest_run
from replay.runs.launch import resume_async, run_async
from replay.testing import chat_server
from tests.adapters.servers import answering, completion
from tests.cli.command import beginning
from tests.cli.compared_runs import write_talks
from tests.runs.scenes import playing
from tests.waiting import hold_up, takes, until_async

TALKS = 6
TURNS = 5


@pytest.fixture
def folder(tmp_path):
    write_talks(tmp_path, TALKS, TURNS)
    return tmp_path


def scenario(folder: Path, *systems: dict, **changes) -> dict:
    echo = {"name": "echo", "adapter": "scripted", "settings": {"answers": "gold"}}
    return playing(folder, *(systems or [echo]), **{"policies": ["gold", "pred"], **changes})


async def test_a_run_holds_every_turn_once_and_its_scores(folder):
    run = await run_async(scenario(folder), runs=folder / "runs")
    records = run.records()
    assert len(records) == TALKS * TURNS * 2
    assert {r.outcome for r in records} == {"answered"}
    frame = run.turns()
    assert len(frame) == len(records)
    assert (frame["f1"] == 1.0).all()
    table = run.depth_table()
    total = table[(table["policy"] == "pred") & table["depth"].isna()]
    assert total["turns"].item() == TALKS * TURNS
    assert total["invalid_share"].item() == 0.0
    assert run.state().finished


async def test_a_run_says_all_that_moved_its_numbers(folder):
    run = await run_async(scenario(folder, drift={"window": 3, "nlp_workers": 0}), runs=folder / "runs")
    signatures = run.signatures()
    assert signatures["pred"].startswith("policy:pred|coref:embedded")
    assert "window:3" in signatures["pred"]
    assert f"convreplay:{replay.__version__}" in signatures["gold"]
    assert signatures["data"].startswith(f"conversations:{TALKS}|sha256:")


def test_run_needs_no_event_loop_of_the_caller(folder):
    run = replay.run(scenario(folder), runs=folder / "runs")
    assert len(replay.Run(run.folder).records()) == TALKS * TURNS * 2


def test_a_script_needs_no_main_guard(folder):
    """Workers that ran the caller's main module again would start the run anew in each of them."""
    content = scenario(folder, policies=["rewrite"], drift={"nlp_workers": 1})
    (folder / "script.py").write_text(
        f"import replay\nprint('begun')\nrun = replay.run({content!r})\nprint(len(run.records()))\n"
    )
    program = [sys.executable, "script.py"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"begun\n{TALKS * TURNS}\n", done.stderr


async def test_resuming_a_finished_run_asks_nothing(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")
        before = Counter(server.asked)
        await resume_async(run.folder)
    assert server.asked == before
    assert len(run.records()) == TALKS * TURNS * 2


async def test_a_cancelled_run_keeps_what_was_answered_and_resumes(folder):
    async with chat_server(delay_s=0.002) as server:
        asked = server.asked
        content = scenario(folder, server.system, policies=["gold"], play={"concurrency": 2})
        task = asyncio.create_task(run_async(content, runs=folder / "runs"))
        await until_async(lambda: asked.total() >= 7)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        run = Run(newest_run(folder / "runs"))
        kept = run.records()
        assert 5 <= len(kept) < TALKS * TURNS
        assert not run.state().finished
        done = {r.asked for r in kept}
        await resume_async(run.folder)
    assert len(run.records()) == TALKS * TURNS
    assert all(asked[question] == 1 for question in done)
    assert run.state().finished


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
@pytest.mark.parametrize("after", [pytest.param(1, marks=pytest.mark.long), 29])
async def test_a_killed_run_resumes_with_every_turn_once_and_no_finished_turn_asked_again(folder, after):
    async with chat_server(delay_s=0.005) as server:
        asked = server.asked
        content = scenario(folder, server.system, play={"concurrency": 3})
        (folder / "s.yaml").write_text(yaml.safe_dump(content))
        process = await beginning("run", "s.yaml", cwd=folder)
        await until_async(lambda: asked.total() >= after)
        process.kill()
        await process.wait()
        await server.quiet()
        run = Run(newest_run(folder / "runs"))
        durable = Counter(r.asked for r in run.records())
        asked_before = Counter(asked)
        assert durable.total() < TALKS * TURNS * 2
        run = await resume_async(run.folder)

        again = asked - asked_before
        places = Counter((r.policy, r.conversation, r.depth) for r in run.records())
        assert len(places) == TALKS * TURNS * 2
        assert set(places.values()) == {1}
        # Each question is asked once per policy: whatever was durable was not asked a second time.
        assert all(again[q] == 2 - durable[q] for q in {r.asked for r in run.records()})


async def test_a_half_played_session_kept_by_the_system_starts_again(folder):
    """Its session is gone, and with it the history that the rest would lean on."""
    faults = [{"conversation": "talk2", "depth": 3, "kind": "connection"}]
    settings = {"answers": "gold", "history": "server", "faults": faults}
    system = {"name": "s", "adapter": "scripted", "settings": settings}
    content = scenario(folder, system, policies=["pred"], play={"attempts": 1})
    run = await run_async(content, runs=folder / "runs")
    assert [r.depth for r in run.records() if r.conversation == "talk2"] == [1, 2, 3]
    connection = sqlite3.connect(run.folder / "run.db")
    with connection:
        connection.execute("DELETE FROM turn WHERE conversation = 'talk1' AND depth >= 4")
    connection.close()
    await resume_async(run.folder)
    assert [r.depth for r in run.records() if r.conversation == "talk1"] == [1, 2, 3, 4, 5]


async def test_a_bad_line_stops_the_run_before_anything_is_asked_or_is_skipped_and_counted(folder):
    with (folder / "talks.jsonl").open("a") as file:
        file.write('{"id": "bad", "turns": 7}\n')
    with pytest.raises(DatasetError, match=rf"talks.jsonl.*{TALKS + 1}"):
        await run_async(scenario(folder), runs=folder / "runs")
    assert Run(newest_run(folder / "runs")).records() == [], "nothing is asked before all data is read"
    content = scenario(folder)
    content["data"]["skip_bad"] = True
    run = await run_async(content, runs=folder / "runs2")
    assert run.state().skipped_conversations == 1
    assert len(run.records()) == TALKS * TURNS * 2


async def test_data_without_a_conversation_is_an_error(folder):
    (folder / "talks.jsonl").write_text("\n\n")
    content = scenario(folder)
    content["data"]["format"] = "native"
    with pytest.raises(DatasetError, match="no conversation"):
        await run_async(content, runs=folder / "runs")


async def test_a_finished_run_is_scored_anew_without_asking(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")
        before = server.asked.total()
        score(run.folder, [Choice(name="rouge_l", settings={"beta": 1.2})])
    assert server.asked.total() == before
    table = run.depth_table()
    assert "rouge_l(beta=1.2)" in table.columns
    assert "f1" not in table.columns


async def test_two_systems_and_two_policies_get_a_table_each(folder):
    systems = [
        {"name": name, "adapter": "scripted", "settings": {"answers": answers}}
        for name, answers in (("right", "gold"), ("wrong", ["No idea."] * TURNS))
    ]
    run = await run_async(scenario(folder, *systems), runs=folder / "runs")
    table = run.depth_table(resamples=50)
    totals = table[table["depth"].isna()].set_index(["system", "policy"])["em"]
    assert totals.to_dict() == {
        ("right", "gold"): 1.0,
        ("right", "pred"): 1.0,
        ("wrong", "gold"): 0.0,
        ("wrong", "pred"): 0.0,
    }


async def test_more_conversations_at_a_time_give_the_same_answers(folder):
    runs = [
        await run_async(scenario(folder, play={"concurrency": n}), runs=folder / f"runs{n}")
        for n in (1, 5, 50)
    ]
    answers = [
        [(r.policy, r.conversation, r.depth, r.asked, r.answer, r.drift) for r in run.records()]
        for run in runs
    ]
    assert answers[0] == answers[1] == answers[2]


def test_the_loops_lag_is_told_where_it_is_in_the_way_of_asks_over_a_wire(folder):
    """Not while nobody is asked, nor of a system in this process."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:  # of which the time goes on
        run = runner.run(held_up_run(folder))
    lags = run.state().lags
    assert list(lags) == ["wired"]
    assert lags["wired"].p99_s >= 0.05
    told = [note for note in notes(run.report(resamples=0)) if "event loop lagged" in note]
    assert len(told) == 1
    assert "wired" in told[0]
    assert "here" not in told[0]


async def held_up_run(folder):
    async def handler(request: web.Request) -> web.Response:
        await takes(0.05)
        hold_up(0.1)
        return web.json_response(completion("Alice Okafor."))

    async with answering(handler) as address:
        settings = {"base_url": f"{address}/v1", "model": "m"}
        systems = [
            {"name": "wired", "adapter": "openai", "settings": settings},
            {"name": "here", "adapter": "scripted", "settings": {"answers": "gold"}},
        ]
        data = {"path": str(folder / "talks.jsonl"), "limit": 1}
        return await run_async(scenario(folder, *systems, policies=["gold"], data=data), runs=folder / "runs")
