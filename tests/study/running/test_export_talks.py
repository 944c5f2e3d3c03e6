"""Exports of studies in which people talk with systems: the circle from a talk to a replay closes."""

from __future__ import annotations

import asyncio
import json

import pandas as pd
import pytest

from replay.cli import app
from replay.datasets.loading import read_conversations
from replay.results.run import Run
from replay.runs.launch import run
from replay.study.running.export import export_study
from replay.study.running.exported_run import DATA
from tests.study.presets.evaluation import study
from tests.study.presets.test_convqa import results as validated_talks
from tests.study.presets.test_mahueval import both_rounds
from tests.study.serving import served


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    """The export of a ``mahueval`` study that two people finished."""
    folder = tmp_path_factory.mktemp("talks")

    async def play():
        async with served(study(folder)) as talks:
            await both_rounds(talks)

    asyncio.run(play())
    export_study(folder / "study.db", folder / "out", resamples=50)
    return folder / "out"


def test_talks_become_a_run_with_what_people_said_of_them(talked):
    played = Run(talked)
    frame = played.depth_table(resamples=0)

    assert frame[["policy", "depth", "turns"]].replace({pd.NA: None}).to_dict("list") == {
        "policy": ["live"] * 3,
        "depth": [1, 2, None],
        "turns": [8, 8, 16],
    }
    assert frame.human_correct.tolist() == [7 / 8, 3 / 8, 10 / 16]
    assert played.scenario().scenario.systems[0].name == "zebra"


def test_judgements_of_a_talk_say_which_turn_they_are_of(talked):
    judged = pd.read_csv(talked / "judgements.csv")
    right = judged[judged.field == "correct"]
    assert right.groupby("depth").value.apply(lambda found: found.astype(int).mean()).tolist() == [
        7 / 8,
        3 / 8,
    ]
    assert set(judged.system) == {"zebra"}


def test_talks_are_replayed_against_the_system(talked, tmp_path):
    again = run(talked / "scenario.yaml", runs=tmp_path)
    asked = {(one.conversation, one.depth): one.recorded for one in again.records()}
    assert asked == {(one.conversation, one.depth): one.asked for one in Run(talked).records()}
    assert again.outcomes() == {"answered": 16 * 3}


@pytest.fixture(scope="module")
def validated(tmp_path_factory):
    """The export of a ``convqa`` study of two systems whose talks two others each validated."""
    folder = tmp_path_factory.mktemp("validated")
    asyncio.run(validated_talks(folder))
    export_study(folder / "study.db", folder / "out", resamples=50)
    return folder / "out"


def test_gold_answers_of_validation_score_the_talks_themselves(validated):
    played = Run(validated)
    records, columns = played.scored()
    found = {
        (one.system, one.depth): (columns["em"].observed[place], columns["human_accuracy"].observed[place])
        for place, one in enumerate(records)
    }
    assert found["one", 1] == (1.0, 1.0), "answered in the words of the passage, and right to all"
    assert found["two", 1] == (0.0, 0.0)
    assert not played.depth_table(resamples=0).unreached.any(), "nobody was to ask both systems everything"
    # What people said of the systems is set against these scores.
    numbers = json.loads((validated / "results.json").read_text())
    held = numbers["details"]["against_scores"]
    assert {one["score"] for one in held} >= {"em", "f1"}


def test_validated_conversations_are_read_and_played_by_another_scenario(validated, tmp_path):
    conversations = read_conversations([validated / DATA], reader=None, on_bad=None, limit=None)
    assert sorted(len(one.turns) for one in conversations) == [3, 4], "one question was dropped"
    again = run(validated / "scenario.yaml", runs=tmp_path)
    assert again.outcomes() == {"answered": 2 * 3 * 7}
    assert again.depth_table(resamples=0).f1_scored.max() > 0


def test_a_run_of_the_same_systems_and_data_is_held_against_talks(validated, tmp_path):
    """Ranked by people and by each policy, as in the published comparison."""
    passage = {"id": "p", "text": "Ann Lee wrote the book in 1999.\nShe lives in Rome."}
    asked = {"question": "Who wrote the book?", "gold_answers": ["Ann Lee wrote the book"]}
    line = {"id": "book-0", "turns": [asked], "passages": [passage]}
    (tmp_path / "data.jsonl").write_text(json.dumps(line), "utf-8")
    systems = [{"name": name, "adapter": "extractive"} for name in ("one", "two")]
    scenario = {"name": "auto", "data": {"path": str(tmp_path / "data.jsonl")}, "systems": systems}
    done = run({**scenario, "policies": ["gold", "pred"], "scorers": ["f1"]}, runs=tmp_path / "runs")

    study, out = validated.parent, tmp_path / "out"
    files = [str(study / "study.db"), "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        app(["study", "export", *files, "--against", str(done.folder), "--resamples", "0"])

    assert ended.value.code == 0
    tables = json.loads((out / "results.json").read_text())["tables"]
    ranks = next(one["rows"] for one in tables if one["title"].endswith("rank them, of other runs"))
    assert {row[2] for row in ranks} == {f"{policy} of {done.folder.name}" for policy in ("gold", "pred")}
    assert {tuple(row[3:5]) for row in ranks if row[0] == "human_correct"} == {("one > two", "one = two")}
