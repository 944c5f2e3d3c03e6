"""The shipped scenario with every judge in it, played as a user would."""

from __future__ import annotations

import pytest

from replay.core.settings.plugins import available
from replay.runs import launch


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judges")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVREPLAY_CACHE", str(folder / "cache"))
        return launch.run("judges", runs=folder / "runs")


def test_it_uses_every_judge_and_all_of_them_find_something(run):
    """But those of rubrics and of goals, which judge what the data asks for, and that of recorded answers."""
    used = {choice.name for choice in run.scenario().scenario.judges}
    assert used == set(available("judges")) - {"rubric", "goal_reached", "pairwise"}

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
    again = launch.run("judges", runs=tmp_path / "again")

    assert run.depth_table(resamples=0)["correctness"].equals(again.depth_table(resamples=0)["correctness"])
    assert run.depth_table(resamples=0)["geval.mean"].equals(again.depth_table(resamples=0)["geval.mean"])
