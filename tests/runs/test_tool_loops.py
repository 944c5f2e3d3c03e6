"""Whole runs of systems that call tools: over real servers, resumed, asked again, under load."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter

import pytest
import yaml

from replay.results.run import Run, newest_run
from replay.runs.launch import resume_async, run_async
from replay.runs.rerun import rerun_async
from replay.store.store import RunStore
from tests.cli.command import beginning
from tests.runs.agents import ANSWER, RESULTS, Agent
from tests.runs.scenes import playing
from tests.waiting import others_first


def scenario(folder, system, *, talks=1, turns=1, **more):
    lines = [
        {"id": f"t{n}", "turns": [{"question": f"{n}-{d}?", "gold_answer": "g"} for d in range(1, turns + 1)]}
        for n in range(talks)
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return playing(folder, system, **{"scorers": ["em"], "tools": {"results": RESULTS}, **more})


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
async def test_an_agent_is_taken_through_three_steps_to_its_answer(tmp_path, api, stream):
    agent = Agent(api, stream=stream)
    async with agent.system() as system:
        run = await run_async(scenario(tmp_path, system, turns=2), runs=tmp_path / "runs")
    assert run.signatures()["tools of agent"].startswith("results:4,sha256:")
    first, second = run.records()
    assert (first.outcome, first.answer, first.asks) == ("answered", ANSWER, 4)
    called = [
        [(call.name, call.parsed_arguments) for call in step.tool_calls] or step.text for step in first.steps
    ]
    assert called == [
        [("customer", {"name": "Ann"})],
        '{"id": 7}',
        [("orders", {"customer": 7})],
        "[1, 2]",
        [("status", {"order": 1}), ("status", {"order": 2})],
        "sent",
        "lost",
    ]
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (40, 8)
    assert len(first.step_times_s) == len(first.steps) + 1
    assert first.timing.latency_s == pytest.approx(first.step_times_s[-1][1])
    assert second.answer == ANSWER
    assert agent.asked == [(f"0-{depth}?", results) for depth in (1, 2) for results in (0, 1, 2, 4)]


async def test_a_failure_within_the_loop_is_asked_again_from_where_it_stood(tmp_path):
    failed = []

    async def once(question, results):
        if results == 2 and not failed:
            failed.append(question)
            raise ConnectionResetError

    agent = Agent(before=once)
    async with agent.system() as system:
        content = scenario(tmp_path, system, play={"backoff_s": 0})
        (record,) = (await run_async(content, runs=tmp_path / "runs")).records()
    assert (record.answer, record.asks, record.attempts) == (ANSWER, 4, 5)
    assert [results for _, results in agent.asked] == [0, 1, 2, 2, 4]


async def interrupted(folder, agent, content, *, at):
    """The run of *content*, cancelled while the *agent* is asked for the first time after *at* results."""
    reached = asyncio.Event()

    async def wait(question, results):
        if results == at:
            reached.set()
            await asyncio.Event().wait()

    agent.before = wait
    task = asyncio.create_task(run_async(content, runs=folder / "runs"))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    agent.before = None
    return Run(newest_run(folder / "runs"))


@pytest.mark.parametrize("at", [1, 2, 4])
async def test_an_interrupted_loop_goes_on_where_it_stood(tmp_path, at):
    agent = Agent()
    async with agent.system() as system:
        run = await interrupted(tmp_path, agent, scenario(tmp_path, system), at=at)
        assert run.records() == []
        await resume_async(run.folder)
    (record,) = run.records()
    assert (record.answer, record.asks, len(record.steps)) == (ANSWER, 4, 7)
    assert Counter(agent.asked) == Counter([("0-1?", n) for n in (0, 1, 2, 4)] + [("0-1?", at)])
    assert no_steps_left(run)


def no_steps_left(run):
    store = RunStore(run.folder)
    try:
        return not store.has_begun_turns()
    finally:
        store.close()


async def test_a_turn_that_is_asked_again_begins_anew_and_what_was_there_is_put_aside(tmp_path):
    agent = Agent()
    async with agent.system() as system:
        content = scenario(tmp_path, system, turns=2, tools={"results": RESULTS, "max_steps": 3})
        run = await run_async(content, runs=tmp_path / "runs")
        assert [r.outcome for r in run.records()] == ["unfinished"]
        before = len(agent.asked)
        await rerun_async(run.folder)
    assert agent.asked[before:] == [("0-1?", 0), ("0-1?", 1), ("0-1?", 2)]
    (old,) = run.superseded()
    assert old.record.steps == run.records()[0].steps
    assert len(old.record.steps) == 5
    assert no_steps_left(run)


async def test_a_rerun_that_is_interrupted_within_a_loop_goes_on_there(tmp_path):
    agent = Agent()

    async def refuse(question, results):
        raise ConnectionResetError

    async with agent.system() as system:
        agent.before = refuse
        content = scenario(tmp_path, system, play={"attempts": 1})
        run = await run_async(content, runs=tmp_path / "runs")
        assert [r.outcome for r in run.records()] == ["refused"]
        agent.asked.clear()
        reached = asyncio.Event()

        async def wait(question, results):
            if results == 2:
                reached.set()
                await asyncio.Event().wait()

        agent.before = wait
        task = asyncio.create_task(rerun_async(run.folder))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        agent.before = None
        await resume_async(run.folder)
    assert [results for _, results in agent.asked] == [0, 1, 2, 2, 4]
    assert [r.answer for r in run.records()] == [ANSWER]
    assert no_steps_left(run)


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
async def test_a_run_that_is_killed_within_a_loop_asks_nothing_again_that_was_answered(tmp_path):
    reached, held = asyncio.Event(), True

    async def wait(question, results):
        if held and question == "0-2?" and results == 2:
            reached.set()
            await asyncio.Event().wait()

    agent = Agent(before=wait)
    async with agent.system() as system:
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario(tmp_path, system, turns=2)))
        process = await beginning("run", "s.yaml", cwd=tmp_path)
        await reached.wait()
        process.kill()
        await process.wait()
        await others_first()
        held = False
        run = Run(newest_run(tmp_path / "runs"))
        assert [r.depth for r in run.records()] == [1]
        await resume_async(run.folder)
    assert [(r.answer, r.asks, len(r.steps)) for r in run.records()] == [(ANSWER, 4, 7)] * 2
    every = Counter((f"0-{depth}?", results) for depth in (1, 2) for results in (0, 1, 2, 4))
    assert Counter(agent.asked) - every == Counter([("0-2?", 2)]), "the ask that was under way"
    assert no_steps_left(run)


async def test_under_load_a_loop_is_one_turn_and_no_retry(tmp_path):
    agent = Agent(stream=True)
    async with agent.system() as system:
        content = scenario(tmp_path, system, talks=2, load={"concurrency": 2, "conversations": 4})
        run = await run_async(content, runs=tmp_path / "runs")
    assert [(r.answer, r.asks, len(r.steps)) for r in run.records()] == [(ANSWER, 4, 7)] * 4
    assert len(agent.asked) == 16
    summary = run.load_summary()
    assert summary.levels[0].total.turns == 4
    assert summary.levels[0].total.retried == 0
    assert summary.levels[0].lateness is not None, "whose sending is known"
    assert summary.levels[0].tokens_from == "pieces", "what is told of all asks is not of the answer"
    assert no_steps_left(run)


async def test_each_ask_of_a_loop_is_answered_from_the_cache(tmp_path):
    agent = Agent("chat")
    async with agent.system() as system:
        kept = {"play": {"cache": str(tmp_path / "kept")}}
        first, second = [
            await run_async(scenario(tmp_path, system, **kept), runs=tmp_path / "runs") for _ in "12"
        ]
    (asked,), (cached,) = first.records(), second.records()

    assert len(agent.asked) == asked.asks == 4
    assert (cached.cached, cached.attempts, cached.timing, cached.step_times_s) == (True, 0, None, ())
    assert (cached.answer, cached.steps) == (asked.answer, asked.steps)


async def test_a_turn_that_came_in_part_from_the_cache_has_no_times(tmp_path):
    """What of a latency is left is no latency."""
    agent = Agent("chat")
    async with agent.system() as system:
        kept = scenario(tmp_path, system, play={"cache": str(tmp_path / "kept")})
        await run_async({**kept, "tools": {"results": RESULTS, "max_steps": 2}}, runs=tmp_path / "runs")
        assert len(agent.asked) == 2
        run = await run_async(kept, runs=tmp_path / "runs")
    (record,) = run.records()

    assert len(agent.asked) == 4
    assert (record.outcome, record.asks, record.attempts) == ("answered", 4, 2)
    assert (record.cached, record.timing) == (True, None)
