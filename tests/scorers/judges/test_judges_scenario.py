"""The shipped scenario with every judge in it, played as a user would."""

from __future__ import annotations

import pytest

from replay.core.settings.plugins import available
from replay.runs import launch
from replay.scenario.reading import read_scenario, with_changes
from replay.scenario.shipped import find_scenario
from tests.scorers.judges.named import NAMED


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judges")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVREPLAY_CACHE", str(folder / "cache"))
        return launch.run("judges", runs=folder / "runs")


def test_it_uses_every_judge_and_all_of_them_find_something(run):
    """But those of rubrics, goals and recorded answers, which the data has, and those in judges-by-name."""
    used = {choice.name for choice in run.scenario().scenario.judges}
    by_name = {named.judge.kind for named in NAMED}
    assert used == set(available("judges")) - {"rubric", "goal_reached", "pairwise"} - by_name

    table = run.depth_table(resamples=0)
    totals = table[table["depth"].isna()]
    assert len(totals) == 2
    columns = [column for one in run.judged() for column in one.units]
    assert columns == [
        "correctness",
        "factual",
        *(f"geval.{n}" for n in ("naturalness", "coherence", "engagingness", "groundedness", "mean")),
        "dialogue.brevity",
        *(f"claims.{n}" for n in ("recall", "precision", "f1")),
    ]
    for column in columns:
        low, high = (1, 7) if run.scorers()[column].unit == "" else (0, 1)
        assert totals[column].between(low, high).all(), column
    assert not (run.folder.parents[1] / "cache" / "verdicts.db").exists()


def test_it_shows_what_judges_do_wrong(run):
    """Its scripted replies are decorated, unreadable and broken here and there, as real ones are."""
    (claims,) = (one for one in run.judged() if one.name == "claims")
    assert claims.spread["claims.recall"].std == 0
    broken = [v for v in run.verdicts("claims") if v.data["repeats"][0]["votes"][0]["evidence"]["problems"]]
    assert broken
    factual = [v.data["repeats"][0]["votes"][0]["evidence"] for v in run.verdicts("factual")]
    assert {evidence["disagreement"] for evidence in factual} == {True, False}
    dialogue = run.verdicts("dialogue")[0].data["repeats"][0]["votes"][0]["evidence"]
    assert dialogue["brevity"]["steps_origin"] == "generated"


def test_the_same_replies_give_the_same_numbers(run, tmp_path):
    few = with_changes(read_scenario(find_scenario("judges")), {"data": {"limit": 2}})
    again = launch.run(few, runs=tmp_path / "again").turns().set_index(["policy", "conversation", "depth"])
    before = run.turns().set_index(["policy", "conversation", "depth"]).loc[again.index]

    assert len(again) > 10
    for column in ("correctness", "geval.mean"):
        assert before[column].equals(again[column])


def test_judges_by_name_are_played_offline_too(tmp_path):
    """With a list that breaks off and is asked for again, and a quote from nowhere that is left out."""
    run = launch.run("judges-by-name", runs=tmp_path / "runs")
    table = run.depth_table(resamples=0)
    (total,) = table[table["depth"].isna()].to_dict("records")

    assert {column: total[column] for one in run.judged() for column in one.units} == pytest.approx(
        {
            "faithfulness": 1,
            "answer_relevancy": 3 / 9,
            "context_precision": (1 + 1 + 1 / 2 + 1 / 3 + 1 / 2 + 1 / 3 + 1 / 2 + 1) / 8,
            "context_recall": 1,
            "completeness": 4 / 9,
            "knowledge_retention": 1,
            "role_adherence": 8 / 9,
        }
    )
    (faithfulness, *others) = run.judged()
    assert (faithfulness.tally.asks, len(faithfulness.flags)) == (9 + 2, 1)
    assert not any(one.flags for one in others)
