"""Runs whose resolver is a model: verdicts, edits, what is counted, and what an interruption costs."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml

from replay.core.errors import InputError, RunStoppedError, ScenarioError
from replay.report.notes import notes
from replay.results.estimates import estimate_resolver
from replay.runs.launch import resume_async, run_async
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario
from tests.cli.command import replay_cli
from tests.coreference.asked_model import honest
from tests.data_tables import from_table
from tests.samples import SINGER
from tests.scorers.judges.servers import broken, judge_server
from tests.waiting import until_async

ASTRAY = ["Ben Achterberg sang it.", "He was born in Leymont.", "Nobody.", "The viola."]
RIGHT = [turn.gold_answer for turn in SINGER.turns]


class Nowhere:
    """In a server's place where none is asked."""

    def settings(self):
        return {"adapter": "scripted"}


def content(folder, server, *policies, answers=ASTRAY, systems=1, drift=None, **changes):
    """A scenario in *folder*; the one conversation is that of the singer."""
    turns = [
        {"question": turn.question, "gold_answer": turn.gold_answer, "standalone": turn.standalone}
        for turn in SINGER.turns
    ]
    (folder / "talk.jsonl").write_text(json.dumps({"id": "talk", "turns": turns}) + "\n")
    settings = {**server.settings(), "attempts": 1, "cache": str(folder / "kept.db")}
    scripted = {"adapter": "scripted", "settings": {"answers": list(answers)}}
    return {
        "name": "asked",
        "data": {"path": str(folder / "talk.jsonl")},
        "systems": [{"name": f"s{n}", **scripted} for n in range(systems)],
        "policies": list(policies),
        "scorers": ["em"],
        "drift": {"resolver": "llm", "settings": settings, "nlp_workers": 0, **(drift or {})},
        **changes,
    }


async def edits(folder, server, policy, **changes):
    run = await run_async(content(folder, server, policy, **changes), runs=folder / "runs")
    return [(r.asked, r.edit) for r in run.records()], run


@from_table
async def test_every_policy_goes_by_what_the_model_says(tmp_path, policy, second, third):
    async with judge_server(honest) as server:
        found, run = await edits(tmp_path, server, policy)
    assert found[1:3] == [second, third]
    assert found[0][1] == found[3][1] == "kept"
    if policy != "augment":
        first, drifted, *_ = [record.drift for record in run.records()]
        assert (first.valid, first.mode) == (True, "llm")
        assert drifted.mentions[0].state == "drifted"


async def test_what_it_took_is_told_below_the_numbers(tmp_path):
    """With what it cost by the scenario's table."""
    (tmp_path / "prices.yaml").write_text("models: {m: {prompt_usd: 10, completion_usd: 10}}")
    async with judge_server(honest) as server:
        made = content(tmp_path, server, "pred", "augment", prices=str(tmp_path / "prices.yaml"))
        run = await run_async(made, runs=tmp_path / "runs")
    asks = len(server.bodies)
    assert asks == 3 + 3  # the first question stands after nothing
    told = [remark for remark in run.report().remarks if remark.startswith("resolver")]
    assert told == [
        "resolver: 6 asks sent, 600 prompt and 12 completion tokens, 0.0061 US dollars.",
    ]


async def test_systems_share_what_is_asked_of_the_recorded_history(tmp_path):
    async with judge_server(honest) as server:
        made = content(tmp_path, server, "augment", systems=3)
        made["drift"]["settings"]["cache"] = False
        await run_async(made, runs=tmp_path / "runs")
    assert len(server.bodies) == 3


async def test_right_answers_are_never_sent(tmp_path):
    async with judge_server("nonsense") as server:
        found, run = await edits(tmp_path, server, "rewrite", answers=RIGHT)
    assert server.bodies == []
    assert {edit for _, edit in found} == {"kept"}
    assert all(record.drift.valid for record in run.records())
    assert not any("resolver" in remark for remark in run.report().remarks)


@pytest.mark.parametrize("policy", ["pred", "rewrite", "filter", "replace"])
async def test_without_a_verdict_a_question_is_asked_as_recorded_and_counts_as_neither(tmp_path, policy):
    async with judge_server("Who knows?") as server:
        found, run = await edits(tmp_path, server, policy)
    assert found == [(turn.question, "kept") for turn in SINGER.turns]
    records = run.records()
    assert [record.answer for record in records] == ASTRAY
    assert [record.drift.valid for record in records] == [True, None, None, None]
    assert all("no usable reading: the reply holds no JSON" in r.drift.not_judged for r in records[1:])
    report = run.report(resamples=0)
    total = report.table.groups[0].total
    assert (total.drift_checked, total.invalid) == (1, 0)
    assert f"{policy}: 3 questions not judged: the model gave no usable reading." in notes(report)
    assert "3 asks failed, the first one: a reply that can't be used" in report.remarks[1]


async def test_without_a_reading_augment_changes_nothing(tmp_path):
    async with judge_server("Who knows?") as server:
        found, run = await edits(tmp_path, server, "augment")
    assert found == [(turn.question, "kept") for turn in SINGER.turns]
    assert [r.drift and r.drift.valid for r in run.records()] == [None] * 4
    (note, *_) = notes(run.report(resamples=0))
    assert note == "augment: 3 questions not judged: the model gave no usable reading."


async def test_the_published_files_have_a_place_for_it(tmp_path):
    async with judge_server("Who knows?") as server:
        _, run = await edits(tmp_path, server, "rewrite")
    done = replay_cli("export", run.folder, "--table", "evalconvqa", "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


async def test_a_resumed_run_asks_nothing_that_was_answered(tmp_path):
    """The second question was read, and its answer never came."""

    def hanging(prompt, number):
        return None if number == 2 else ASTRAY[number - 1]

    async with judge_server(honest) as server, judge_server(hanging) as system:
        made = content(tmp_path, server, "rewrite")
        made["systems"] = [{"name": "s", **system.settings()}]
        run = asyncio.create_task(run_async(made, runs=tmp_path / "runs"))
        await until_async(lambda: len(system.bodies) == 2)
        run.cancel()
        await asyncio.wait([run])
        assert len(server.bodies) == 1
        (folder,) = (tmp_path / "runs").iterdir()
        system.reply = lambda prompt, number: ASTRAY[number - 2]
        resumed = await resume_async(folder)
        assert len(server.bodies) == 3
    assert [record.drift.valid for record in resumed.records()] == [True, False, False, True]
    assert resumed.report().remarks[0].startswith("resolver: 3 asks sent, 1 replies reused")


async def test_another_run_of_the_same_asks_nothing(tmp_path):
    async with judge_server(honest) as server:
        made = content(tmp_path, server, "pred", "rewrite")
        first, second = [await run_async(made, runs=tmp_path / "runs") for _ in range(2)]
        assert len(server.prompts) == len(set(server.prompts))
    verdicts = [[record.drift for record in run.records()] for run in (first, second)]
    assert verdicts[0] == verdicts[1]


async def test_a_refused_key_stops_the_run_which_goes_on_when_that_is_mended(tmp_path):
    async with judge_server(lambda *_: broken(401)) as server:
        with pytest.raises(RunStoppedError) as caught:
            await run_async(content(tmp_path, server, "pred"), runs=tmp_path / "runs")
        (folder,) = (tmp_path / "runs").iterdir()
        assert 'resolver "openai/m" refused us' in str(caught.value)
        server.reply = honest
        run = await resume_async(folder)
        prompts = server.prompts[1:]
        assert len(prompts) == len(set(prompts)) == 3
    assert [record.drift.valid for record in run.records()] == [True, False, False, True]
    (told, *_) = run.report().remarks
    assert told.startswith("resolver: 4 asks sent")  # of both sessions


@pytest.mark.parametrize(("key", "value"), [("mode", "strict"), ("threshold", 0.5), ("match", "f1")])
def test_a_rule_for_readings_has_no_place_beside_a_model_that_gives_the_verdict(tmp_path, key, value):
    made = content(tmp_path, Nowhere(), "pred", drift={key: value})
    file = parse_scenario(yaml.safe_dump(made), source="s", folder=tmp_path)
    with pytest.raises(ScenarioError) as caught:
        assemble(file)
    assert [fault.path for fault in caught.value.faults] == [f"drift.{key}"]
    assert 'resolver "llm" gives the verdict itself' in str(caught.value)


async def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(tmp_path):
    async with judge_server(honest) as server:
        made = content(tmp_path, server, "gold", "pred", "augment", systems=2)
        made["drift"]["settings"]["prices"] = {"prompt_usd": 1000, "completion_usd": 1000}
        (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(made))

        def planned(*options):
            done = replay_cli("run", "scenario.yaml", "--dry-run", *options, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return done.stdout

        found = json.loads(planned("--json"))
        assert server.bodies == []
        assert not (tmp_path / "runs").exists()
        await run_async(made, runs=tmp_path / "runs")
        asked = len(server.bodies)
        again = json.loads(planned("--json"))
    resolver = found["resolver"]
    assert (found["turns"], found["asks_of_each_system"]) == (4, 12)
    # Three questions after something, for each of two systems, and three of the recorded history.
    assert (resolver["asks"], resolver["cached"], resolver["settled"]) == (9, 0, 3)
    assert resolver["asks_at_most"] == 18
    assert asked == 3 + 3  # the two systems said the same
    assert (again["resolver"]["asks"], again["resolver"]["cached"]) == (6, 3)
    tokens = resolver["prompt_tokens"] + resolver["completion_tokens"]
    assert resolver["cost_usd"] == pytest.approx(tokens * 1000 / 1e6)
    text = planned()
    assert "each system: 12 questions at most" in text
    assert "6 to 12" in text


def estimated(folder, *policies, talks=1, bad=0, **changes):
    made = content(folder, Nowhere(), *policies, **changes)
    path = folder / "talk.jsonl"
    talk = json.loads(path.read_text())
    lines = [json.dumps({**talk, "id": f"talk{n}"}) for n in range(talks)] + ["{}"] * bad
    path.write_text("\n".join(lines))
    return estimate_resolver(assemble(parse_scenario(yaml.safe_dump(made), source="s", folder=folder)))


def test_policies_that_detect_no_drift_cost_nothing(tmp_path):
    assert estimated(tmp_path, "gold", {"pred": {"detect": False}}).cases == 0


def test_equal_conversations_are_read_once(tmp_path):
    assert estimated(tmp_path, "augment", talks=3).asks == 3


def test_what_does_not_fit_is_not_paid_for(tmp_path):
    def tokens(answer, characters):
        settings = {"adapter": "scripted", "history_characters": characters}
        made = content(tmp_path, Nowhere(), "pred", drift={"settings": settings})
        turns = [{"question": "Who?", "gold_answer": answer}, {"question": "Where was she?"}]
        (tmp_path / "talk.jsonl").write_text(json.dumps({"id": "talk", "turns": turns}))
        file = parse_scenario(yaml.safe_dump(made), source="s", folder=tmp_path)
        return estimate_resolver(assemble(file)).prompt_tokens

    short = tokens("She.", 200)
    assert tokens("She." * 100, 200) < short + 60 < short + 190 < tokens("She." * 100, 2000)


def test_another_resolver_asks_nobody(tmp_path):
    assert estimated(tmp_path, "pred", drift={"resolver": "embedded", "settings": {}}) is None


def test_conversations_that_are_skipped_cost_nothing(tmp_path):
    data = {"path": "talk.jsonl", "skip_bad": True}
    assert estimated(tmp_path, "pred", bad=1, data=data).asks == 3


def test_a_dry_run_of_a_load_is_refused(tmp_path):
    made = content(tmp_path, Nowhere(), "pred", load={"concurrency": 1, "turns": 1})
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(made))
    done = replay_cli("run", "scenario.yaml", "--dry-run", cwd=tmp_path)
    assert done.returncode == 2
    assert "--dry-run can't tell" in done.stderr


async def test_its_host_has_to_be_confirmed_before_a_load_run(tmp_path):
    class OutThere:
        def settings(self):
            return {"adapter": "openai", "settings": {"base_url": "http://nowhere.invalid/v1", "model": "m"}}

    made = content(tmp_path, OutThere(), "pred", load={"concurrency": 1, "turns": 1})
    with pytest.raises(InputError, match=r"--allow-host nowhere\.invalid"):
        await run_async(made, runs=tmp_path / "runs")


async def test_a_load_run_asks_and_counts_too(tmp_path):
    async with judge_server(honest) as server:
        made = content(tmp_path, server, "pred", load={"concurrency": 1, "turns": 4})
        run = await run_async(made, runs=tmp_path / "runs")
    assert len(server.bodies) == 3
    assert run.report().remarks[0].startswith("resolver: 3 asks sent")
    assert [record.drift.valid for record in run.records()] == [True, False, False, True]
