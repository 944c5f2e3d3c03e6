"""``assert``: each key of an assertion played where it decides."""

from __future__ import annotations

import pytest
import yaml
from typer.testing import CliRunner

from replay.cli import app
from replay.results.comparing import check_assertions
from replay.results.run import Run
from replay.runs.launch import run
from tests.data_tables import from_table
from tests.scenario.keys import key, python, scenario, talk

HALF = """
def answer(question, history):
    return "a said 2." if history and history[-1].answer == "a said 1." else "Nothing."
"""
"""Right at the second turn only, and only after the gold answer."""
POLICIES = ["gold", {"pred": {"detect": False}}]


def checked(folder, assertion) -> bool:
    """
    Whether *assertion* holds of a run of two turns with two systems under two policies.

    By system and policy, em is 1 and 1 for ``good``, and 0.5 and 0 for ``half``.
    """
    systems = [{"name": "good", "adapter": "scripted"}, {"name": "half", **python(folder, HALF)}]
    file = scenario(
        folder, talks=[talk("a", 2)], systems=systems, policies=POLICIES, **{"assert": [assertion]}
    )
    (result,) = check_assertions(run(file, runs=folder / "runs"))
    return result.holds


@key("assert.metric", "assert.system", "assert.policy", "assert.depth", "assert.min", "assert.max")
@from_table
def test_what_is_asserted_holds_or_not(tmp_path, assertion, holds):
    assert checked(tmp_path, yaml.safe_load(assertion)) is holds


@pytest.fixture(scope="module")
def better(tmp_path_factory) -> Run:
    """A run in which nothing is wrong."""
    folder = tmp_path_factory.mktemp("better")
    systems = [{"name": name, "adapter": "scripted"} for name in ("good", "half")]
    return run(
        scenario(folder, talks=[talk("a", 2)], systems=systems, policies=POLICIES), runs=folder / "runs"
    )


@key("assert.compare", "assert.max_drop", "assert.max_rise", "assert.significant")
@from_table
def test_a_change_since_another_run_holds_or_not(tmp_path, better, assertion, holds):
    """A single conversation can't tell a change from chance, so nothing about it is significant."""
    assert checked(tmp_path, {**yaml.safe_load(assertion), "compare": str(better.folder)}) is holds


@key("assert.compare", "assert.max_rise")
def test_the_run_that_is_named_is_the_one_compared_with(tmp_path):
    worse = scenario(
        tmp_path,
        talks=[talk("a", 2)],
        systems=[{"name": name, **python(tmp_path, HALF)} for name in ("good", "half")],
        policies=POLICIES,
    )
    since = str(run(worse, runs=tmp_path / "runs").folder)
    assert not checked(tmp_path, {"metric": "em", "max_rise": 0.4, "compare": since})
    assert checked(tmp_path, {"metric": "em", "max_rise": 1, "compare": since})


@key("assert.max_unchecked")
@pytest.mark.parametrize(("allowed", "holds"), [(0, False), (0.3, False), (0.5, True)])
def test_checks_that_a_broken_system_never_came_to_fail_unless_they_are_allowed(tmp_path, allowed, holds):
    """Its first turn is all right, and the second is not answered."""
    breaks = {"settings": {"answers": ["a said 1."], "faults": [{"kind": "timeout", "depth": 2}]}}
    expecting = talk("a", 2)
    for turn in expecting["turns"]:
        turn["expect"] = {"contains": "said"}
    one = {"metric": "check", "min": 1, "max_unchecked": allowed}
    file = scenario(tmp_path, talks=[expecting], system=breaks, play={"attempts": 1}, **{"assert": [one]})
    (result,) = check_assertions(run(file, runs=tmp_path / "runs"))

    assert result.holds is holds
    assert "1 of 2 checks could not be looked at (1 not answered: timed-out)" in result.findings[0].summary


@pytest.mark.parametrize(("asserted", "code"), [([], 0), ([{"metric": "em", "max": 0.5}], 100)])
def test_a_run_whose_assertions_fail_ends_with_100(tmp_path, monkeypatch, asserted, code):
    scenario(tmp_path, **{"assert": asserted})
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["run", "keys.yaml"]).exit_code == code
