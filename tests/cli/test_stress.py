"""``replay stress`` as a user types it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from replay.play.load.section import LoadSection
from replay.results.run import Run, newest_run
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.load.scenes import NOWHERE, scenario, talk

QUICK = ("--turns", "6")


def stress(*arguments: str, cwd: Path, verb: str = "stress") -> subprocess.CompletedProcess[str]:
    return replay_cli(verb, *arguments, cwd=cwd)


def newest(folder: Path) -> Run:
    return Run(newest_run(folder / "runs"))


def played(folder: Path) -> LoadSection:
    """The load that the newest run was played under."""
    load = newest(folder).scenario().scenario.load
    assert load is not None
    return load


@pytest.fixture
def plain(tmp_path):
    """A folder with a scenario without load."""
    scenario(tmp_path, None)
    return tmp_path


def test_a_scenario_without_load_can_be_played_under_one(plain):
    done = stress("load.yaml", "--concurrency", "2", *QUICK, cwd=plain)
    assert done.returncode == 0, done.stderr
    assert "Load, closed: 1 level, 6 turns in" in done.stdout
    assert f"run: runs/{newest(plain).folder.name}" in done.stdout
    assert "concurrency 2: 6 turns" in done.stderr
    assert newest(plain).outcomes() == {"answered": 6}
    load = played(plain)
    assert (load.profile, load.concurrency, load.turns, load.duration_s) == ("closed", 2, 6, None)


def test_a_run_of_a_scenario_with_load_plays_it_and_options_go_before_it(tmp_path):
    (tmp_path / "trace.csv").write_text("at_s\n0\n0.01\n0.02\n")
    load = {"profile": "constant", "rate": 50, "turns": 4, "think": 0.01, "slo": {"errors": 0}}
    scenario(tmp_path, load)
    assert stress("load.yaml", cwd=tmp_path, verb="run").returncode == 0
    assert played(tmp_path) == LoadSection.model_validate(load)

    done = stress(
        *("load.yaml", "--concurrency", "3", "--turns", "5", "--think", "0", "--order", "shuffle"),
        *("--slo", "latency_p50_s=2", "--slo", "em_min=0.5"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    changed = played(tmp_path)
    assert (changed.profile, changed.concurrency, changed.turns, changed.order) == ("closed", 3, 5, "shuffle")
    assert changed.think.kind == "none"
    assert changed.slo == {"latency_p50_s": 2, "em_min": 0.5}

    done = stress("load.yaml", "--trace", "trace.csv", "--runs", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert played(tmp_path).profile == "trace"
    assert "Load, trace: 1 level" in done.stdout


def test_one_level_can_be_played_of_a_scenario_with_a_sweep(tmp_path):
    scenario(tmp_path, {"sweep": {"levels": [1, 2]}, "duration_s": 0.1})
    done = stress("load.yaml", "--concurrency", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert played(tmp_path).sweep is None
    assert "Load, closed: 1 level" in done.stdout


def test_the_report_as_json_has_the_load(plain):
    done = stress("load.yaml", *QUICK, "--json", cwd=plain)
    assert done.returncode == 0, done.stderr
    levels = json.loads(done.stdout)["load"]["levels"]
    assert [level["total"]["turns"] for level in levels] == [6]


def test_a_load_run_is_not_resumed(plain):
    assert stress("load.yaml", *QUICK, cwd=plain).returncode == 0
    done = stress(cwd=plain, verb="resume")
    assert done.returncode == 2
    assert "is a load run: what it measured is in it (`replay report`)" in done.stderr
    assert "begin a new run" in done.stderr
    assert "Traceback" not in done.stderr


@from_table
def test_bad_options_end_with_a_sentence(plain, arguments, words):
    done = stress("load.yaml", *arguments, cwd=plain)
    assert done.returncode == 2, done.stderr
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert not list(plain.glob("runs/*/run.db")) or "--think" in arguments or "--trace" in arguments


def test_faults_of_the_section_are_told_with_their_lines(plain):
    content = yaml.safe_load((plain / "load.yaml").read_text())
    text = yaml.safe_dump(content, sort_keys=False)
    lines = text.count("\n")
    (plain / "load.yaml").write_text(
        f"{text}load:\n  profil: closed\n  concurrency: 0\n  think:\n    kind: fixed\n  turns: 3\n"
    )
    done = stress("load.yaml", cwd=plain, verb="validate")
    assert done.returncode == 2
    for line, words in ((2, "load.profil "), (3, "load.concurrency"), (4, "load.think")):
        told = [said for said in done.stderr.splitlines() if words in said]
        assert any(f"line {lines + line} " in said for said in told), done.stderr


def test_an_unknown_objective_is_told_with_its_line(plain):
    text = (plain / "load.yaml").read_text()
    (plain / "load.yaml").write_text(f"{text}load:\n  turns: 3\n  slo: {{latency_p99: 3, f2_min: 0.5}}\n")
    done = stress("load.yaml", cwd=plain, verb="validate")
    assert done.returncode == 2
    assert 'slo.latency_p99: "latency_p99" is not an objective' in done.stderr
    assert '"f2" is not a scorer of the scenario' in done.stderr
    assert f"line {text.count(chr(10)) + 3} " in done.stderr


def test_a_public_host_is_refused_unless_confirmed_by_option(tmp_path):
    scenario(tmp_path, None, address=NOWHERE, talks=[talk("a", 1)], play={"timeout_s": 0.1})
    refused = stress("load.yaml", "--turns", "1", cwd=tmp_path)
    assert refused.returncode == 2
    assert "this run would put load on 192.0.2.1" in refused.stderr
    assert "--allow-host 192.0.2.1" in refused.stderr
    assert not (tmp_path / "runs").exists()
    allowed = stress("load.yaml", "--turns", "1", "--allow-host", "192.0.2.1", cwd=tmp_path)
    assert allowed.returncode == 1, "nobody is there"
    assert "no question was answered" in allowed.stderr
    assert len(newest(tmp_path).records()) == 1


def test_validate_says_what_load_would_be_offered_and_what_is_asserted(plain):
    (plain / "load.yaml").write_text(
        (plain / "load.yaml").read_text()
        + "\nload: {profile: poisson, rate: 5, duration_s: 1, slo: {latency_p99_s: 3}}\n"
        + "assert: [{metric: errors, max: 0.1}]\n"
    )
    done = stress("load.yaml", cwd=plain, verb="validate")
    assert done.returncode == 0, done.stderr
    assert "load      poisson: 5 conversations/s, 1 process" in done.stdout
    assert "objective: latency p99 at most 3 s" in done.stdout
    assert "assert    errors at most 0.1" in done.stdout
