"""Judges of runs: after playing, later on, interrupted, repeated, estimated, reported."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from replay.cli import app
from replay.core.errors import RunStoppedError
from replay.core.settings.choice import Choice
from replay.report.export import report_json
from replay.results.judging import estimate_run, judge_run, run_panels, score
from replay.results.run import Run
from replay.runs.launch import resume_async, run_async
from replay.scorers.judges.geval import FAILED_SAMPLE
from replay.scorers.judges.tally import FlagCount
from replay.scorers.judges.yes_no import SAYS_BOTH
from tests.data_tables import from_table
from tests.scorers.judges.servers import broken, judge_server
from tests.waiting import until_async

TURNS = 3


def with_talks(folder):
    """*folder*, with two conversations of three turns in it."""
    turns = [
        {"question": f"Who sang song {n}?", "gold_answer": f"Alice sang song {n}."}
        for n in range(1, TURNS + 1)
    ]
    lines = [{"id": f"talk{n}", "title": f"Talk {n}", "turns": turns} for n in range(2)]
    (folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def folder(tmp_path):
    return with_talks(tmp_path)


def scenario(folder, *judges, **changes):
    return {
        "name": "judged",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": [{"name": "echo", "adapter": "scripted"}],
        "policies": ["pred"],
        "scorers": ["em"],
        "drift": {"nlp_workers": 0},
        "judges": list(judges),
        **changes,
    }


def by_depth(prompt, number):
    """Right but at depth 2."""
    return "No" if "song 2?" in prompt else "Yes"


async def test_a_run_is_judged_after_it_is_scored_and_its_verdicts_are_kept_with_their_evidence(folder):
    async with judge_server(by_depth) as server:
        run = await run_async(scenario(folder, {"correctness": server.settings()}), runs=folder / "runs")

    table = run.depth_table(resamples=0)
    assert dict(zip(table["depth"].dropna(), table["correctness"], strict=False)) == {1: 1.0, 2: 0.0, 3: 1.0}
    assert table["em"].iloc[-1] == 1.0
    assert list(run.turns().columns)[-3:] == ["em", "correctness", "unscored"]
    (judged,) = run.judged()
    assert (judged.tally.verdicts, judged.tally.asks) == (2 * TURNS, 2 * TURNS)
    assert run.scorers()["correctness"].signature == judged.signature
    assert run.state().finished

    verdict = run.verdicts("correctness")[1]
    assert (verdict.conversation, verdict.depth, verdict.asks, verdict.cached) == ("talk0", 2, 1, 0)
    assert verdict.data["values"] == {"correctness": 0.0}
    (vote,) = verdict.data["repeats"][0]["votes"]
    (asked,) = vote["asks"]
    assert (vote["voter"], asked["text"]) == ("openai/m", "No")
    assert asked["usage"] == {"prompt_tokens": 100, "completion_tokens": 2, "cached_prompt_tokens": None}
    assert "song 2?" in verdict.data["prompts"][asked["prompt"]]
    with closing(sqlite3.connect(run.folder / "run.db")) as connection:  # as any program reads it
        values = "SELECT depth, json_extract(data, '$.values') FROM verdict ORDER BY 1"
        assert len(connection.execute(values).fetchall()) == 2 * TURNS


async def test_a_judge_may_give_numbers_of_which_less_is_better(folder):
    (folder / "less.py").write_text(
        "from replay.scorers.judges.yes_no import CorrectnessJudge\n"
        "from replay.scorers.judges.judge import Output\n"
        "class Less(CorrectnessJudge):\n"
        "    outputs = (Output(voting='majority', lower_is_better=True),)\n"
    )
    async with judge_server(by_depth) as server:
        judges = ({f"{folder}/less.py:Less": server.settings()}, {"correctness": server.settings()})
        run = await run_async(scenario(folder, *judges), runs=folder / "runs")

    assert {name: one.lower_is_better for name, one in run.scorers().items() if name != "em"} == {
        "Less": True,
        "correctness": False,
    }


async def test_a_judge_that_fails_stops_nothing_and_is_reported(folder):
    async with judge_server(lambda prompt, number: broken(400)) as server:
        settings = {**server.settings(), "backoff_s": 0.0}
        run = await run_async(scenario(folder, {"correctness": settings}), runs=folder / "runs")

    assert run.state().finished
    table = run.depth_table(resamples=0)
    assert table["correctness"].isna().all()
    report = report_json(run.report(resamples=0))
    assert any("without correctness (judge refused)" in note for note in report["notes"])
    assert any("6 asks failed, the first one: POST" in note and "oh no" in note for note in report["notes"])
    assert report["judges"][0]["tally"]["failed_asks"] == 6


async def test_a_judge_that_nobody_answers_for_stops_nothing(folder):
    settings = {
        "adapter": "openai",
        "settings": {"base_url": "http://127.0.0.1:1/v1", "model": "m"},
        "attempts": 1,
    }
    run = await run_async(scenario(folder, {"correctness": settings}), runs=folder / "runs")

    assert "judge connection-failed" in str(run.turns()["unscored"].iloc[0])


async def test_a_judge_that_refuses_the_key_stops_at_once_and_goes_on_when_that_is_mended(folder):
    async with judge_server(lambda prompt, number: broken(401)) as server:
        content = scenario(folder, {"correctness": {**server.settings(), "concurrency": 2}})
        with pytest.raises(RunStoppedError) as caught:
            await run_async(content, runs=folder / "runs")
        (run_folder,) = (folder / "runs").iterdir()
        run = Run(run_folder)

        assert len(server.bodies) <= 2
        assert 'judge "correctness": voter "openai/m" refused us' in str(caught.value)
        assert "answered 401" in str(caught.value)
        assert "oh no" in str(caught.value)
        assert str(caught.value).endswith(f"go on with: replay score {run_folder} --judge correctness")
        assert run.state().finished
        assert run.turns()["em"].notna().all()
        assert run.judged()[0].tally.failed_asks >= 1
        server.reply = by_depth
        await judge_run(run_folder, run_panels(run, ["correctness"]))

    assert run.turns()["correctness"].notna().all()


async def test_what_a_judge_found_earlier_stays_when_it_refuses_the_key_now(folder):
    async with judge_server("Yes") as one, judge_server("Yes") as two:
        voters = [{**server.settings(), "name": name} for server, name in ((one, "one"), (two, "two"))]
        run = await run_async(scenario(folder, {"correctness": {"voters": voters}}), runs=folder / "runs")
        before = run.verdicts("correctness"), run.judged()
        two.reply = lambda prompt, number: broken(403)
        with pytest.raises(RunStoppedError, match='judge "correctness": voter "two"'):
            await judge_run(run.folder, run_panels(run, ["all"], cache=False))

    assert (run.verdicts("correctness"), run.judged()) == before
    assert run.turns()["correctness"].notna().all()


async def test_judging_again_leaves_the_earlier_verdicts_until_all_new_ones_are_there(folder):
    async with judge_server("Yes") as server:
        settings = {**server.settings(), "concurrency": 1}
        run = await run_async(scenario(folder, {"correctness": settings}), runs=folder / "runs")
        before = run.verdicts("correctness"), run.judged(), list(run.turns()["correctness"])
        asked = len(server.bodies)
        server.reply = lambda prompt, number: "No" if number <= asked + 2 else None
        panels = run_panels(run, ["all"], cache=False)
        task = asyncio.create_task(judge_run(run.folder, panels))
        await until_async(lambda: len(server.bodies) >= asked + 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (run.verdicts("correctness"), run.judged(), list(run.turns()["correctness"])) == before
        server.reply = lambda prompt, number: "No"
        await judge_run(run.folder, panels)
    assert list(run.turns()["correctness"]) == [0.0] * len(before[2])
    assert len(run.verdicts("correctness")) == len(before[0])


async def test_a_key_that_is_refused_later_is_a_turn_without_a_verdict(folder):
    async with judge_server(lambda prompt, number: broken(401) if number > 2 else "Yes") as server:
        judge = {"correctness": {**server.settings(), "concurrency": 1}}
        run = await run_async(scenario(folder, judge), runs=folder / "runs")

    assert run.turns()["correctness"].notna().sum() == 2
    assert len(server.bodies) == 2 * TURNS


async def test_judging_again_takes_the_cache_unless_told_otherwise(folder):
    async with judge_server(by_depth) as server:
        run = await run_async(scenario(folder, {"correctness": server.settings()}), runs=folder / "runs")
        await judge_run(run.folder, run_panels(run, ["correctness"]))
        assert len(server.bodies) == 2 * TURNS
        assert run.judged()[0].tally.cached == 2 * TURNS
        await judge_run(run.folder, run_panels(run, ["all"], cache=False))
        assert len(server.bodies) == 4 * TURNS
        await judge_run(run.folder, run_panels(run, ["all"], repeats=2))
        assert len(server.bodies) == 6 * TURNS  # the first repeat is in the cache

    spread = run.judged()[0].spread["correctness"]
    assert spread.means == pytest.approx((2 / 3, 2 / 3))
    assert (spread.std, spread.turn_std) == (0, 0)
    assert "|repeats:2" in run.judged()[0].signature


async def test_a_new_judge_comes_beside_the_old_one_and_scores_stay(folder):
    async with judge_server(by_depth) as server:
        run = await run_async(scenario(folder, {"correctness": server.settings()}), runs=folder / "runs")
        new = json.dumps({"geval": {**server.settings(), "mode": "single", "criteria": ["coherence"]}})
        server.reply = lambda prompt, number: "4"
        await judge_run(run.folder, run_panels(run, [new]))

    assert list(run.scorers()) == ["em", "correctness", "geval.coherence"]
    assert run.report(resamples=0).table.columns["geval.coherence"].unit == ""
    score(run.folder, [Choice(name="f1")])
    assert list(run.scorers()) == ["f1", "correctness", "geval.coherence"]


async def test_turns_that_were_not_answered_have_no_verdict(folder):
    settings = {"faults": [{"kind": "refused", "depth": 2}]}
    systems = [{"name": "echo", "adapter": "scripted", "settings": settings}]
    async with judge_server("Yes") as server:
        content = scenario(folder, {"correctness": server.settings()}, systems=systems)
        run = await run_async(content, runs=folder / "runs")

    assert len(server.bodies) == 2
    reasons = [row["unscored"].get("correctness") for _, row in run.turns().iterrows()]
    assert reasons == [None, "not answered: refused"] * 2


async def test_a_dialogue_is_judged_once_and_stands_at_its_last_turn(folder):
    async with judge_server("3") as server:
        settings = {"mode": "single", "level": "dialogue", "criteria": ["coherence"], "cache": False}
        content = scenario(folder, {"geval": {**server.settings(), **settings}})
        run = await run_async(content, runs=folder / "runs")

    assert len(server.bodies) == 2
    table = run.depth_table(resamples=0)
    assert table["geval.coherence_scored"].tolist() == [0, 0, 2, 2]
    assert table["geval.coherence"].iloc[-1] == 3.0


async def test_the_gold_policy_is_judged_in_the_history_it_showed(folder):
    systems = [{"name": "s", "adapter": "scripted", "settings": {"answers": ["Own."] * TURNS}}]
    async with judge_server("3") as server:
        settings = {"mode": "single", "criteria": ["coherence"], "cache": False}
        content = scenario(folder, {"geval": {**server.settings(), **settings}}, systems=systems)
        await run_async({**content, "policies": ["gold", "pred"]}, runs=folder / "runs")

    shown = [prompt.count("System: Alice sang song 1.") for prompt in server.prompts]
    assert sum(shown) == 2 * (TURNS - 1)


async def test_cancelled_half_way_a_run_keeps_its_verdicts_and_resume_asks_only_the_rest(folder):
    async with judge_server(lambda prompt, number: "Yes" if number <= 2 else None) as server:
        settings = {**server.settings(), "concurrency": 1}
        content = scenario(folder, {"correctness": settings})
        task = asyncio.create_task(run_async(content, runs=folder / "runs"))
        await until_async(lambda: len(server.bodies) >= 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (run_folder,) = (folder / "runs").iterdir()
        run = Run(run_folder)
        assert len(run.verdicts("correctness")) == 2
        assert run.judged()[0].tally.verdicts == 2
        assert (run.turns()["correctness"].notna()).sum() == 2
        assert any(reasons.get("correctness") == "not scored yet" for reasons in run.turns()["unscored"])
        server.reply = lambda prompt, number: "Yes"
        asked = len(server.bodies)
        await resume_async(run_folder)

    assert len(server.bodies) == asked + 2 * TURNS - 2
    assert len(run.verdicts("correctness")) == 2 * TURNS
    assert run.turns()["correctness"].notna().all()


def by_sample(prompt, number):
    """Of every four samples one is empty and one is an error."""
    return {1: "", 2: broken(400)}.get(number % 4, "4")


async def test_what_made_verdicts_doubtful_is_counted_in_the_notes_the_json_and_the_verdict(folder):
    async with judge_server(by_sample) as server:
        settings = {**server.settings(), "mode": "samples", "samples": 4, "criteria": ["coherence"]}
        settings |= {"concurrency": 1, "cache": False}
        run = await run_async(scenario(folder, {"geval": settings}), runs=folder / "runs")

    assert len(server.bodies) == 4 * 2 * TURNS  # the empty ones and the errors are not tried again
    assert run.turns()["geval.coherence"].tolist() == [4.0] * 2 * TURNS
    report = report_json(run.report(resamples=0))
    (flags,) = (one["flags"] for one in report["judges"])
    first = 'turn 1 of "talk0" (echo, pred)'
    assert flags == {FAILED_SAMPLE: {"first": first, "times": 12, "turns": 6}}
    sentence = f"judge geval: {FAILED_SAMPLE}: 12 times in 6 turns, the first one {first}."
    assert sentence in report["notes"]
    (vote,) = run.verdicts("geval")[0].data["repeats"][0]["votes"]
    assert vote["flags"] == [FAILED_SAMPLE, FAILED_SAMPLE]
    assert vote["evidence"]["coherence"]["rated"] == 2


async def test_flags_are_counted_by_turn_and_by_what_they_say(folder):
    def reply(prompt, number):
        return "No doubt: yes" if "song 2?" in prompt else "Yes"

    async with judge_server(reply) as server:
        run = await run_async(scenario(folder, {"correctness": server.settings()}), runs=folder / "runs")

    (judged,) = run.judged()
    flagged = FlagCount(first='turn 2 of "talk0" (echo, pred)', times=2, turns=2)
    assert judged.flags == {SAYS_BOTH: flagged}
    assert run.turns()["correctness"].tolist() == [1.0] * 2 * TURNS


async def test_an_estimate_asks_and_writes_nothing(folder, cache_folder):
    async with judge_server("Yes") as server:
        run = await run_async(scenario(folder), runs=folder / "runs")
        panels = run_panels(run, [json.dumps({"correctness": server.settings()})])
        (estimate,) = estimate_run(run.folder, panels)

    assert (estimate.cases, estimate.asks) == (2 * TURNS, 2 * TURNS)
    assert server.bodies == []
    assert not (cache_folder / "verdicts.db").exists()
    assert run.judged() == []


# The command line ----------------------------------------------------------------------------------------


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def judged_once(tmp_path_factory):
    folder = with_talks(tmp_path_factory.mktemp("judged"))
    replies = {"correctness": ["Yes", "No", "Yes"], "geval.coherence": ["5", "4", "3"]}
    settings = {"adapter": "scripted", "settings": {"answers": replies}, "cache": False}
    judges = {"correctness": settings}, {"geval": {**settings, "mode": "single", "criteria": ["coherence"]}}
    return asyncio.run(run_async(scenario(folder, *judges), runs=folder / "runs")).folder


@pytest.fixture
def judged(judged_once, tmp_path):
    return Run(shutil.copytree(judged_once, tmp_path / "run"))


def test_a_judge_of_the_scenario_is_asked_again_by_name(judged):
    done = call("score", judged.folder, "--judge", "correctness", "--repeats", 2, "--json")

    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert [one["name"] for one in report["judges"]] == ["correctness", "geval"]
    assert report["judges"][0]["spread"]["correctness"]["turns"] == 2 * TURNS
    assert any("2 repeats of correctness over 6 turns" in note for note in report["notes"])


def test_a_dry_run_shows_a_table_and_asks_nothing(judged):
    before = judged.judged()
    done = call("score", judged.folder, "--dry-run")

    assert done.exit_code == 0, done.output
    assert "correctness" in done.stdout
    assert "Nothing was asked." in done.stdout
    assert judged.judged() == before
    plain = json.loads(call("score", judged.folder, "--judge", "geval", "--dry-run", "--json").stdout)
    assert [(one["name"], one["asks"]) for one in plain] == [("geval", 2 * TURNS)]


@from_table
def test_what_cant_be_judged_is_told(judged, options, message):
    done = call("score", judged.folder, *options)

    assert done.exit_code != 0
    assert message in str(done.exception)


def test_scoring_leaves_verdicts_as_they_are(judged):
    assert call("score", judged.folder, "--scorer", "f1").exit_code == 0
    assert list(judged.scorers()) == ["f1", "correctness", "geval.coherence"]


def test_validate_shows_the_judges(folder):
    import yaml

    path = folder / "s.yaml"
    path.write_text(yaml.safe_dump(scenario(folder, {"correctness": {"adapter": "scripted"}})))
    done = call("validate", path)

    assert "judge     correctness: correctness:prompt=" in done.stdout
