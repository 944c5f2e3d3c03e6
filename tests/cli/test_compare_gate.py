"""`replay compare --fail-on` and `--baseline`: what a build fails on."""

from __future__ import annotations

import json
import shutil

import pytest

import replay
from tests.cli.command import replay_cli
from tests.cli.compared_runs import right_and_wrong, scenario


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return right_and_wrong(tmp_path_factory.mktemp("work"))


def test_a_significant_loss_ends_with_100_and_what_it_is(folder):
    """Six conversations that differ alike: p = 2/64 for the one total that was asked for."""
    gated = ["--policy", "gold", "--fail-on", "em"]
    done = replay_cli("compare", "right", "wrong", *gated, cwd=folder)

    assert done.returncode == 100
    assert "Gate: 1 of 1 comparison of em significantly worse (p Holm at most 0.05)" in done.stdout
    assert "FAIL  em, s, gold: 100.0 -> 25.0 %, -75.0, p Holm .031, on 24 turns" in done.stdout

    better = replay_cli("compare", "wrong", "right", *gated, cwd=folder)
    assert (better.returncode, "Gate: none of 1" in better.stdout) == (0, True)

    stricter = replay_cli("compare", "right", "wrong", *gated, "--alpha", "0.01", cwd=folder)
    assert stricter.returncode == 101
    assert "Gate: UNDECIDED: none of 1 comparison of em is significantly worse" in stricter.stdout
    few = "em, s, gold: too few conversations (6) for any difference to be significant: p Holm can't be below"
    assert f"UNDECIDED  {few} .031; 8 would be enough" in stricter.stdout


def test_a_gate_that_could_not_have_failed_is_not_green(folder):
    """Whatever came out: of six conversations and two totals no p Holm is below 4/64."""
    for sides in (("right", "wrong"), ("right", "right"), ("wrong", "right")):
        done = replay_cli("compare", *sides, "--fail-on", "em", "--json", cwd=folder)
        gate = json.loads(done.stdout)["gate"]
        assert (done.returncode, gate["holds"], gate["decided"]) == (101, True, False)
        assert [(one["conversations"], one["least_p"], one["needed"]) for one in gate["powerless"]] == [
            (6, 4 / 64, 7),
            (6, 4 / 64, 7),
        ]
    alone = ["--policy", "gold", "--fail-on", "em"]
    assert replay_cli("compare", "right", "right", *alone, cwd=folder).returncode == 0
    few = replay_cli("compare", "right", "right", *alone, "--permutations", "9", cwd=folder)
    assert (few.returncode, "draw more --permutations" in few.stdout) == (101, True)


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Three conversations, of which the second run fails one check and does not answer another."""
    made = tmp_path_factory.mktemp("checked")
    talks = [
        {
            "id": f"talk{n}",
            "turns": [
                {"question": f"Who sang {n}?", "gold_answer": "Ann.", "expect": {"contains": "Ann"}},
                {"question": f"When {n}?", "gold_answer": "In 1987.", "expect": {"contains": "1987"}},
            ],
        }
        for n in range(3)
    ]
    (made / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    silent = [{"kind": "refused", "conversation": "talk0", "depth": 2}]
    for name, answers, faults in (
        ("old", ["Ann.", "In 1987."], []),
        ("forgets", ["Ann.", "In 1990."], []),
        ("silent", ["Ann.", "In 1987."], silent),
        ("unlike", ["Nobody.", "In 1987."], []),
    ):
        content = scenario(made, answers, policies=["gold"], play={"attempts": 1})
        content["systems"][0]["settings"]["faults"] = faults
        replay.run(content, runs=made / "made").folder.rename(made / name)
    return made


def test_a_check_that_newly_fails_ends_with_100_however_few_there_are(checked):
    done = replay_cli("compare", "old", "forgets", "--fail-on", "checks", cwd=checked)
    assert done.returncode == 100
    assert "Gate: 3 of 6 comparisons of checks newly failing, or no longer looked at" in done.stdout
    assert 'FAIL  check, s, gold: depth 2 of talk0: contains "1987": fails now, passed before' in done.stdout

    assert replay_cli("compare", "old", "old", "--fail-on", "checks", cwd=checked).returncode == 0
    assert replay_cli("compare", "forgets", "old", "--fail-on", "checks", cwd=checked).returncode == 0
    assert not replay.compare(checked / "old", checked / "unlike", fail_on="checks").gate.holds


def test_a_check_that_passed_and_is_no_longer_looked_at_ends_with_100(checked):
    done = replay_cli("compare", "old", "silent", "--fail-on", "checks", cwd=checked)
    assert done.returncode == 100
    assert "depth 2 of talk0" in done.stdout
    assert "is no longer looked at, passed before" in done.stdout
    gone = replay_cli("compare", "forgets", "silent", "--fail-on", "checks", "--json", cwd=checked)
    assert (gone.returncode, json.loads(gone.stdout)["gate"]["losses"]) == (0, [])


def test_what_checks_find_comes_before_what_a_score_could_not(checked):
    both = ["--fail-on", "checks", "--fail-on", "f1"]
    lost = replay_cli("compare", "old", "forgets", *both, cwd=checked)
    assert (lost.returncode, "UNDECIDED  f1, s, gold" in lost.stdout) == (100, True)
    assert replay_cli("compare", "old", "old", *both, cwd=checked).returncode == 101


def test_checks_that_neither_side_has_fail(folder):
    done = replay_cli("compare", "right", "right", "--fail-on", "checks", cwd=folder)
    assert (done.returncode, "not compared: no check is in both" in done.stdout) == (100, True)


def test_the_gate_is_corrected_for_what_is_compared_and_looks_at_depths_apart(folder):
    both = replay_cli("compare", "right", "wrong", "--fail-on", "em", cwd=folder)
    deep = ["--policy", "gold", "--fail-on", "em", "--by", "depth", "--json"]
    found = json.loads(replay_cli("compare", "right", "wrong", *deep, cwd=folder).stdout)["gate"]

    assert both.returncode == 101, "two totals: p Holm is 4/64"
    assert [loss["row"]["depth"] for loss in found["losses"]] == [None], "of four depths p Holm is 8/64"
    assert (found["holds"], found["looked_at"], found["scores"]) == (False, 5, ["em"])


def test_where_less_is_better_more_is_the_loss(folder):
    """``errors`` is read off the records; what was not answered has no other score to lose."""
    content = scenario(folder, "gold")
    content["systems"][0]["settings"]["faults"] = [{"kind": "refused", "depth": 2}]
    replay.run(content, runs=folder / "failing").folder.rename(folder / "failed")
    gated = ["--policy", "gold", "--fail-on", "errors"]
    done = replay_cli("compare", "right", "failed", *gated, cwd=folder)

    assert done.returncode == 100
    assert "FAIL  errors, s, gold: 0.0 -> 50.0 %, +50.0" in done.stdout
    assert "errors 0 won and 6 lost" in done.stdout
    assert replay_cli("compare", "failed", "right", *gated, cwd=folder).returncode == 0
    assert "errors" in replay_cli("compare", "right", "failed", "--fail-on", "any", cwd=folder).stdout


def test_what_can_not_be_compared_fails(folder):
    content = scenario(folder, "gold", policies=["gold"])
    replay.run(content, runs=folder / "few").folder.rename(folder / "gold-only")
    done = replay_cli("compare", "right", "gold-only", "--fail-on", "em", cwd=folder)

    assert done.returncode == 100
    assert "FAIL  s, pred: not compared: right has it and gold-only doesn't" in done.stdout
    assert replay_cli("compare", "gold-only", "right", "--fail-on", "em", cwd=folder).returncode == 0


@pytest.mark.parametrize("baseline", ["kept", "empty"])
def test_a_first_run_without_a_baseline_passes_with_a_note(folder, baseline):
    (folder / "empty").mkdir(exist_ok=True)
    gated = ["compare", "wrong", "--baseline", baseline, "--fail-on", "em"]
    done = replay_cli(*gated, cwd=folder)

    assert done.returncode == 0
    assert f'there is no run at "{baseline}" yet, so nothing was compared' in done.stdout
    assert f"cp -r wrong {baseline}" in done.stdout
    assert json.loads(replay_cli(*gated, "--json", cwd=folder).stdout)["baseline"] is None


def test_a_baseline_that_is_something_else_is_no_first_run(folder, tmp_path):
    """Or a slip of the pen would turn the gate off for good."""
    (tmp_path / "data").write_text("")
    done = replay_cli("compare", "right", "--baseline", tmp_path, "--fail-on", "em", cwd=folder)
    assert (done.returncode, "holds something, but no run" in done.stderr) == (2, True)

    for name in ("right", "wrong"):
        shutil.copytree(folder / name, tmp_path / name)
    done = replay_cli("compare", "right", "--baseline", tmp_path, "--fail-on", "em", cwd=folder)
    assert (done.returncode, "holds 2 runs (right, wrong); name one" in done.stderr) == (2, True)


def test_a_baseline_may_lie_in_a_folder_and_the_newest_run_is_held_against_it(folder):
    """As an artifact of an earlier job is unpacked, and the run has only just been made."""
    shutil.copytree(folder / "right", folder / "artifact" / "right", dirs_exist_ok=True)
    shutil.copytree(folder / "wrong", folder / "runs" / "try", dirs_exist_ok=True)
    done = replay_cli("compare", "--baseline", "artifact", "--policy", "gold", "--fail-on", "em", cwd=folder)

    assert done.returncode == 100
    assert "A: artifact/right, B: runs/try" in done.stdout
