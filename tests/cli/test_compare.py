"""`replay compare`, as a user types it."""

from __future__ import annotations

import json

import pytest

import replay
from replay.results.run import newest_run
from tests.cli.command import replay_cli
from tests.cli.compared_runs import TALKS, TURNS, right_and_wrong
from tests.data_tables import from_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return right_and_wrong(tmp_path_factory.mktemp("work"))


def test_two_runs_are_compared_by_depth(folder, monkeypatch):
    """Six conversations that all differ alike: the smallest p-value there is, 2 of 64."""
    done = replay_cli("compare", "right", "wrong", "--metric", "em", "--by", "depth", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    gold, pred = found["pairs"]
    (em,) = pred["scores"]

    assert (gold["conversations"], gold["only_first"]) == (TALKS, 0)
    assert [row["depth"] for row in em["rows"]] == [1, 2, 3, 4, None]
    assert [row["value"] for row in em["rows"]] == [0, -1, -1, -1, -0.75]
    assert [row["p"] for row in em["rows"]] == [1, *[2 / 64] * 4]
    assert em["rows"][1]["p_holm"] == pytest.approx(8 * 2 / 64)
    assert em["rows"][-1]["p_holm"] == pytest.approx(2 * 2 / 64)
    assert len(em["flips"]) == TALKS * 3
    assert found["test"]["holm_over"] == {"totals": 2, "depths": 8}
    monkeypatch.chdir(folder)
    assert replay.compare("right", "wrong", metrics="em", by_depth=True).to_json() == found


def test_the_text_says_what_was_paired_and_what_flipped(folder):
    done = replay_cli(
        "compare", "right", "wrong", "--policy", "gold", "--metric", "f1", "--flips", "1", cwd=folder
    )

    assert "s, gold (B) minus s, gold (A), on the same turns" in done.stdout
    assert "Flipped turns: f1 0 won and 18 lost" in done.stdout
    assert "talk0, depth 2: lost f1" in done.stdout
    assert "... and 17 more" in done.stdout
    assert "6 conversations paired." in done.stdout


@pytest.mark.parametrize("flags", [[], ["--markdown"]])
def test_a_sentence_says_what_the_table_comes_to(folder, flags):
    pair = ["--policy", "gold", "--metric", "em", *flags]
    worse = replay_cli("compare", "right", "wrong", *pair, cwd=folder).stdout
    better = replay_cli("compare", "wrong", "right", *pair, cwd=folder).stdout
    alike = replay_cli("compare", "right", "right", *pair, cwd=folder).stdout

    assert "B is worse in em (-75.0 points); any other difference could be chance." in squeezed(worse)
    assert "B is better in em (+75.0 points)" in squeezed(better)
    assert "No score is better or worse in B by more than could be chance." in squeezed(alike)


def squeezed(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


@from_table
def test_wrong_usage_ends_with_a_sentence(folder, arguments, message):
    done = replay_cli("compare", *arguments, cwd=folder)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_runs_is_told_apart_from_a_run(folder):
    (folder / "runs").mkdir()
    (folder / "runs" / "only").symlink_to(folder / "right")
    done = replay_cli("report", "runs", cwd=folder)

    assert done.returncode == 2
    assert '"runs" is a folder of runs; name one of them, as "runs/only"' in done.stderr


def test_the_spread_of_runs_of_one_scenario_is_shown(folder):
    for name in ("two", "three"):
        assert replay_cli("run", "right.yaml", "--runs", name, cwd=folder).returncode == 0
    runs = [str(newest_run(folder / name).relative_to(folder)) for name in ("two", "three")]
    found = json.loads(replay_cli("compare", "--spread", "right", *runs, "--json", cwd=folder).stdout)

    assert found["runs"] == ["right", *runs]
    assert {row["deviation"] for row in found["spread"]} == {0}
    assert [one["same"] for one in found["same_answers"]] == [TALKS * TURNS] * 2
    assert found["notes"] == []


def test_the_spread_of_any_runs_can_be_shown_and_where_they_measured_different_things(folder):
    done = replay_cli("compare", "--spread", "right", "wrong", cwd=folder)

    assert "Spread between 2 runs" in done.stdout
    assert "6 of 24 turns (25.0 %) were answered alike in every run" in " ".join(done.stdout.split())


def test_a_report_can_have_bca_intervals(folder):
    done = replay_cli("report", "wrong", "--interval", "bca", cwd=folder)

    assert "BCa bootstrap over 6 conversations" in " ".join(done.stdout.split())
    assert "no interval for em, f1 at depths 1 to 4 and all depths together" in " ".join(done.stdout.split())


@pytest.mark.long
def test_a_run_is_held_against_a_table_of_ratings(folder):
    lines = ["conversation,depth,policy,rater,overall"]
    for talk in range(TALKS):
        for depth in range(1, TURNS + 1):
            lines += [f"talk{talk},{depth},gold,{rater},{1 if depth > 1 else 5}" for rater in ("ann", "bob")]
    (folder / "human.csv").write_text("\n".join(lines) + "\n")
    done = replay_cli("agree", "wrong", "human.csv", "--plots", "plots", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert found["joined_by"] == "policy, conversation, depth"
    assert [one["score"] for one in found["agreement"]] == ["em", "f1"]
    assert found["agreement"][0]["correlations"]["pearson"]["value"] == pytest.approx(1)
    assert found["agreement"][0]["correlations"]["pearson"]["clusters"] == TALKS
    assert found["raters"]["criteria"]["overall"]["rows"][-1]["cohen_kappa"]["value"] == pytest.approx(1)
    assert len(found["plots"]) == len(list((folder / "plots").iterdir())) == 8


def test_agree_prints_tables_and_wrong_usage_ends_with_a_sentence(folder):
    (folder / "a.csv").write_text("id,quality\n1,0.1\n2,0.4\n3,0.2\n")
    (folder / "b.csv").write_text("id,overall\n1,1\n2,5\n3,4\n")
    done = replay_cli("agree", "a.csv", "b.csv", cwd=folder)

    assert "quality / overall" in done.stdout
    assert "+1.000" in done.stdout
    for arguments in (
        ["--score-range", "0,1"],
        ["--against", "kindness"],
        ["--score-range", "1", "--human-range", "5,1"],
    ):
        done = replay_cli("agree", "a.csv", "b.csv", *arguments, cwd=folder)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "jsonl"])
def test_two_tables_are_scored(folder, suffix):
    (folder / "bench.csv").write_text("Question,Golden Response\nWho?,Ann sang it\nWhere?,In Rome\n")
    (folder / "answers.jsonl").write_text('{"question": "Where?", "answer": "In Rome"}\n')
    arguments = ["--benchmark", "bench.csv", "--responses", "answers.jsonl", "--out", f"out.{suffix}"]
    done = replay_cli("score-file", *arguments, "--column", "Rouge-L", cwd=folder)
    assert done.returncode == 0, done.stderr

    assert "Rouge-L" in done.stdout
    assert "1 row has no response" in done.stdout
    assert (folder / f"out.{suffix}").stat().st_size > 0
    again = replay_cli("score-file", *arguments, "--column", "Rouge-L", "--json", cwd=folder)
    assert json.loads(again.stdout)["means"][0]["value"] == 1.0


def test_markdown_fits_where_it_has_to(folder):
    whole, short = (
        replay_cli("compare", "right", "wrong", "--by", "depth", "--markdown", *options, cwd=folder).stdout
        for options in ((), ("--max-chars", "2000"))
    )

    assert len(whole) > 2000 >= len(short)
    assert "more lines of this were left out for room: `replay compare` without `--markdown` has all" in short
