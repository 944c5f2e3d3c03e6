"""Chosen turns of a finished run are asked again, and nothing else; what was before is kept."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections import Counter
from contextlib import closing

import pytest
import yaml

from replay.core.errors import InputError, RunError
from replay.core.settings.choice import Choice
from replay.results.judging import score
from replay.results.run import Run
from replay.runs.launch import resume_async, run_async
from replay.runs.rerun import count_chosen, rerun_async
from replay.testing import chat_server
from tests.cli.command import beginning, replay_cli
from tests.cli.compared_runs import write_talks
from tests.data_tables import from_table
from tests.runs.scenes import playing
from tests.waiting import others_first, until_async

TALKS = 4
TURNS = 5


@pytest.fixture
def folder(tmp_path):
    write_talks(tmp_path, TALKS, TURNS)
    return tmp_path


def scenario(folder, system, *policies, **changes) -> dict:
    return playing(folder, system, **{"policies": [*policies], "play": {"attempts": 1}, **changes})


def question(talk, depth) -> str:
    return f"Who sang {talk}-{depth}?"


def questions(talk, depths) -> Counter:
    return Counter(question(talk, depth) for depth in depths)


def places(run) -> Counter:
    return Counter((r.policy, r.conversation, r.depth) for r in run.records())


async def test_failed_turns_are_asked_again_and_what_a_failure_kept_from_being_asked(folder):
    async with chat_server() as server:
        server.broken = {question(1, 3), question(2, 5)}
        run = await run_async(scenario(folder, server.system, "gold"), runs=folder / "runs")
        assert run.outcomes() == {"answered": 16, "refused": 2}
        server.broken, server.asked = set(), Counter()
        run = await rerun_async(run.folder, ["failed"])
        assert server.asked == questions(1, [3, 4, 5]) + questions(2, [5])
    assert run.outcomes() == {"answered": TALKS * TURNS}
    assert set(places(run).values()) == {1}
    kept = [(one.reason, one.record.conversation, one.record.depth) for one in run.superseded()]
    assert sorted(kept) == [("rerun 1: failed", "talk1", 3), ("rerun 1: failed", "talk2", 5)]
    assert {one.record.outcome for one in run.superseded()} == {"refused"}
    assert run.state().finished


@pytest.mark.parametrize("policy", ["gold", "augment"])
async def test_where_the_history_is_gold_only_the_chosen_turns_are_asked(folder, policy):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, policy), runs=folder / "runs")
        server.asked = Counter()
        run = await rerun_async(run.folder, ["conversation=talk1", "depth<=4", "depth>1"])
        assert server.asked.total() == 3
        assert [one.record.depth for one in run.superseded()] == [2, 3, 4]
    assert len(places(run)) == TALKS * TURNS


async def test_where_the_history_is_the_system_s_own_later_turns_are_asked_too(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, "gold", "pred"), runs=folder / "runs")
        before = {(r.policy, r.conversation, r.depth): r for r in run.records()}
        server.asked = Counter()
        server.answers = {question(1, depth): "Someone else." for depth in range(1, TURNS + 1)}
        run = await rerun_async(run.folder, ["conversation=talk1", "depth=3"])
        assert server.asked == questions(1, [3]) + questions(1, [3, 4, 5])
    assert len(places(run)) == 2 * TALKS * TURNS
    kept = {
        (one.record.policy, one.record.conversation, one.record.depth): one.record for one in run.superseded()
    }
    assert sorted(kept) == [("gold", "talk1", 3), *(("pred", "talk1", depth) for depth in (3, 4, 5))]
    assert all(before[place] == record for place, record in kept.items())
    now = {(r.policy, r.conversation, r.depth): r.answer for r in run.records()}
    assert {place for place, answer in now.items() if answer == "Someone else."} == set(kept)


async def test_where_the_system_keeps_the_history_the_conversation_is_played_again(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.keeper, "pred"), runs=folder / "runs")
        server.asked = Counter()
        run = await rerun_async(run.folder, ["conversation=talk2", "depth=4"])
        assert server.asked == questions(2, range(1, TURNS + 1))
    assert len(run.superseded()) == TURNS
    assert set(places(run).values()) == {1}


async def test_scores_of_what_was_replaced_go_and_all_is_scored_again_as_last_chosen(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, "gold"), runs=folder / "runs")
        score(run.folder, [Choice(name="em")])
        server.answers[question(0, 2)] = "Ann sang 2."
        run = await rerun_async(run.folder, ["conversation=talk0", "depth=2"])
    table = run.depth_table(resamples=0)
    assert "f1" not in table.columns
    assert table[table["depth"] == 2]["em"].item() == 1 / TALKS
    assert table[table["depth"].isna()]["turns"].item() == TALKS * TURNS


async def test_the_report_says_how_many_turns_were_asked_again(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, "gold"), runs=folder / "runs")
        assert not any("asked again" in remark for remark in run.report(resamples=0).remarks)
        for _ in range(2):
            run = await rerun_async(run.folder, ["depth=1"])
    assert "4 turns were asked again (8 attempts kept)." in run.report(resamples=0).remarks
    assert {one.reason for one in run.superseded()} == {"rerun 1: depth=1", "rerun 2: depth=1"}


async def test_a_turn_that_fails_again_is_kept_like_any_other(folder):
    async with chat_server() as server:
        server.broken = {question(1, 3)}
        run = await run_async(scenario(folder, server.system, "pred"), runs=folder / "runs")
        run = await rerun_async(run.folder, ["failed"])
        assert server.asked[question(1, 3)] == 2
        assert server.asked[question(1, 4)] == 0
    assert run.outcomes() == {"answered": 17, "refused": 1}
    assert run.state().finished


async def test_when_nothing_is_chosen_nothing_happens(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, "gold"), runs=folder / "runs")
        with closing(sqlite3.connect(run.folder / "run.db")) as connection:
            events = connection.execute("SELECT count(*) FROM event").fetchone()
            server.asked = Counter()
            await rerun_async(run.folder, ["failed"])
            assert connection.execute("SELECT count(*) FROM event").fetchone() == events
        assert not server.asked


@pytest.mark.parametrize(
    ("only", "chosen"),
    [
        (["outcome=refused,timed-out"], 2),
        (["depth>=4"], 5),
        (["depth=2-3", "conversation=talk0,talk1"], 4),
        (["policy=gold", "system=server", "depth=1"], TALKS),
        (["failed", "depth<=3"], 1),
    ],
)
async def test_conditions_choose_what_they_say(folder, only, chosen):
    async with chat_server() as server:
        server.broken = {question(1, 3), question(2, 4)}
        run = await run_async(scenario(folder, server.system, "gold"), runs=folder / "runs")
    assert count_chosen(run.folder, only) == chosen


@from_table
async def test_what_can_t_be_meant_is_refused_with_what_can(folder, only, said):
    system = {"name": "s", "adapter": "scripted"}
    run = await run_async(scenario(folder, system, "gold"), runs=folder / "runs")
    with pytest.raises(InputError, match=said):
        await rerun_async(run.folder, only)


async def test_an_interrupted_run_is_to_be_finished_first(folder):
    async with chat_server(delay_s=0.01) as server:
        content = scenario(folder, server.system, "gold", play={"concurrency": 1})
        task = asyncio.create_task(run_async(content, runs=folder / "runs"))
        await until_async(lambda: server.asked.total() >= 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        (run,) = (folder / "runs").iterdir()
        with pytest.raises(RunError, match="replay resume"):
            await rerun_async(run, ["failed"])


async def test_a_load_run_can_not_be_asked_again_in_part(folder):
    load = {"profile": "closed", "concurrency": 2, "conversations": 4}
    content = scenario(folder, {"name": "s", "adapter": "scripted"}, "pred", load=load)
    run = await run_async(content, runs=folder / "runs")
    with pytest.raises(RunError, match="load run"):
        await rerun_async(run.folder, ["depth=1"])


async def test_a_rerun_that_was_cancelled_goes_on_where_it_stood(folder):
    async with chat_server() as server:
        content = scenario(folder, server.system, "gold", "pred", play={"concurrency": 1})
        run = await run_async(content, runs=folder / "runs")
        server.asked, server.delay_s = Counter(), 0.005
        task = asyncio.create_task(rerun_async(run.folder, ["depth>=3"]))
        await until_async(lambda: server.asked.total() >= 7)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not run.state().finished
        with pytest.raises(RunError, match=r"depth>=3.*interrupted"):
            await rerun_async(run.folder, ["failed"])
        run = await rerun_async(run.folder, ["depth>=3"])
    assert len(run.superseded()) == 2 * 3 * TALKS
    assert len({(r.record.policy, r.record.conversation, r.record.depth) for r in run.superseded()}) == 24
    assert 24 <= server.asked.total() <= 25  # one ask may have been under way
    assert run.state().finished


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
@pytest.mark.parametrize("keeps_history", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_killed_again_and_again_a_rerun_asks_every_chosen_turn_and_none_twice(folder, keeps_history):
    rng = random.Random(f"rerun {keeps_history}")
    async with chat_server() as server:
        system = server.keeper if keeps_history else server.system
        policies = ["pred"] if keeps_history else ["gold", "pred"]
        content = scenario(folder, system, *policies, play={"concurrency": 3})
        run = await run_async(content, runs=folder / "runs")
        every = places(run)
        server.asked, server.delay_s = Counter(), 0.005
        verb = ["rerun", run.folder, "--only", "depth>=2"]
        for _ in range(2):
            process = await beginning(*verb)
            until = server.asked.total() + rng.randint(1, 6)
            await until_async(lambda until=until: server.asked.total() >= until)
            process.kill()
            await process.wait()
            await server.quiet()
            before = Counter(server.asked)
            durable = {
                (one.record.policy, one.record.conversation, one.record.depth) for one in run.superseded()
            } & set(places(run))
            verb = ["resume", run.folder]
        run = await resume_async(run.folder)
        again = server.asked - before
    assert places(run) == every
    reruns = [one for one in run.superseded() if one.reason.startswith("rerun")]
    replaced = Counter((r.record.policy, r.record.conversation, r.record.depth) for r in reruns)
    assert set(replaced.values()) == {1}
    chosen = every if keeps_history else {place for place in every if place[2] >= 2}
    assert set(replaced) == set(chosen)
    if not keeps_history:
        asked_twice = Counter(question(c.removeprefix("talk"), depth) for _, c, depth in durable)
        assert all(again[q] <= 2 - times for q, times in asked_twice.items())


def test_the_command_line_asks_again_and_says_what_it_did(folder):
    faults = [{"kind": "refused", "conversation": "talk1", "depth": 2}]
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": "gold", "faults": faults}}
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario(folder, system, "gold")))
    assert replay_cli("run", "s.yaml", cwd=folder).returncode == 0
    done = replay_cli("rerun", "--only", "failed", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "1 turn chosen" in done.stderr
    assert "1 turn was asked again (1 attempt kept)." in done.stdout
    nothing = replay_cli("rerun", "--only", "outcome=timed-out", cwd=folder)
    assert nothing.returncode == 0
    assert "nothing was asked again" in nothing.stderr
    without = replay_cli("rerun", cwd=folder)
    assert without.returncode == 2
    assert "--only failed" in without.stderr


async def test_a_run_is_consistent_at_any_moment_of_a_rerun(folder):
    """Whoever looks sees each turn once at most, and never a turn after one that is missing."""
    async with chat_server() as server:
        content = scenario(folder, server.system, "gold", "pred", play={"concurrency": 4})
        run = await run_async(content, runs=folder / "runs")
        server.delay_s = 0.002
        task = asyncio.create_task(rerun_async(run.folder, ["depth>=2"]))
        looks = 0
        while not task.done():
            with closing(sqlite3.connect(run.folder / "run.db")) as connection:
                rows = connection.execute(
                    "SELECT conversation, policy, count(*), max(depth), count(DISTINCT depth) FROM turn"
                    " GROUP BY conversation, policy"
                ).fetchall()
            assert len(rows) == 2 * TALKS
            assert all(turns == deepest == different for *_, turns, deepest, different in rows)
            looks += 1
            await others_first()
        await task
    assert looks > 3
    assert (await resume_async(run.folder)).outcomes() == {"answered": 2 * TALKS * TURNS}
    assert Run(run.folder).state().finished
