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
    assert stricter.returncode == 0
    assert "em of s, gold (6 differ); 8 that differ would be enough" in stricter.stdout


def test_the_gate_is_corrected_for_what_is_compared_and_looks_at_depths_apart(folder):
    both = replay_cli("compare", "right", "wrong", "--fail-on", "em", cwd=folder)
    deep = ["--policy", "gold", "--fail-on", "em", "--by", "depth", "--json"]
    found = json.loads(replay_cli("compare", "right", "wrong", *deep, cwd=folder).stdout)["gate"]

    assert both.returncode == 0, "two totals: p Holm is 4/64"
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
