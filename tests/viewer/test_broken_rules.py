"""What failed of a run, and the turns behind it."""

from __future__ import annotations

from dataclasses import replace

from replay.results.run import Run
from replay.scorers.word_overlap import em, f1
from replay.statistics.checks import count_checks
from replay.store.page_queries import RecordKey, RunBrowser
from replay.viewer.overview import assertions_view, objective_value
from replay.viewer.run_numbers import broken_rules, gate, numbers_of
from tests.data_tables import from_table
from tests.report.sample_checks import SAMPLE, check, checked_run
from tests.report.test_load_text import sweep
from tests.statistics.load_runs import summary_of
from tests.viewer.runs import failing_run, make_run, record, talk


def rules_of(folder, load=None, scorers=None):
    run, browser = Run(folder), RunBrowser(folder)
    try:
        found = broken_rules(
            gate(run),
            load,
            run.scorers() if scorers is None else scorers,
            count_checks(run.checks()),
            browser,
        )
    finally:
        browser.close()
    return {one.id: one for one in found}


def test_a_failed_assertion_has_the_turns_that_break_its_bound(tmp_path):
    found = rules_of(failing_run(tmp_path / "run"))
    broken = found["assertion-0-made-pred"]

    assert broken.title == "f1 at least 0.6 (pred): made, pred"
    assert {id: [turn.depth for turn in turns] for id, turns in broken.by_conversation.items()} == {
        "a": [2],
        "b": [1, 2],
    }
    assert not any(id.startswith("assertion-1") for id in found), "it holds"


def test_a_score_that_says_yes_or_no_is_a_rule_and_no_other(tmp_path):
    found = rules_of(failing_run(tmp_path / "run"))

    assert found["score-em"].turns == [
        RecordKey("a", "made", "pred", 2),
        RecordKey("b", "made", "pred", 1),
        RecordKey("b", "made", "pred", 2),
    ]
    assert "score-f1" not in found


def test_a_plug_in_that_is_gone_is_told_and_hides_nothing_else(tmp_path):
    scenario = {"text": "name: x\nsystems: [{adapter: gone.py:It}]\n", "source": "x.yaml", "folder": "."}
    folder = make_run(tmp_path / "run", [talk("a")], [record("a", 1)], {}, scenario=scenario)
    found = gate(Run(folder))

    assert found.summary == "not checked"
    assert "x.yaml" in found.problem


@from_table
def test_a_missed_objective_has_the_turns_beyond_it_at_its_level_or_all_of_that(tmp_path, key, bound, depths):
    """At the second level asks take 1.1 to 1.129 s, every tenth fails, and answers score 0.7."""
    folder = sweep(tmp_path / "run")
    load = summary_of(folder, {"f1": f1()})
    first, second = load.levels
    goals = (replace(second.played.goals[0], key=key),)
    levels = (first, replace(second, played=replace(second.played, goals=goals)))
    found = rules_of(folder, replace(load, levels=levels, load={"slo": {key: bound}}), {"em": em()})
    (broken,) = found.values()

    assert broken.title == "latency p99 at most 1 s: concurrency 16"
    assert len(broken.turns) == depths
    assert all("~1-" in turn.conversation for turn in broken.turns)


def test_what_had_to_hold_says_what_failed(tmp_path):
    held = assertions_view(numbers_of(failing_run(tmp_path / "run"), 10))
    (first,), (second,) = (one.findings for one in held.gate.results)

    assert held.gate.summary == "1 of 2 failed"
    assert (first.group.policy, len(held.against_assertion(0, first).turns)) == ("pred", 3)
    assert held.against_assertion(1, second) is None


def test_objectives_stand_level_by_level(tmp_path):
    held = assertions_view(numbers_of(sweep(tmp_path / "run"), 10))

    assert held.limit == "Objectives were met up to concurrency 8; concurrency 16 missed them."
    assert held.goals == ["latency p99 at most 1 s"]
    met, missed = held.levels
    (kept,), (lost,) = met.goals, missed.goals
    assert (met.name, objective_value(kept)) == ("concurrency 8", "100 ms")
    assert held.against_objective(met, kept) is None
    assert (missed.name, len(held.against_objective(missed, lost).turns)) == ("concurrency 16", 30)


def test_failed_checks_are_rules_by_column_and_those_of_a_number_by_group_and_depth(tmp_path):
    found = rules_of(checked_run(tmp_path / "run", [*SAMPLE, check("b", 1, "-", policy="gold")]))

    assert {id: (one.kind, [turn.depth for turn in one.turns]) for id, one in found.items()} == {
        "checks-check": ("checks", [1, 1, 1, 2]),
        "checks-check.contains": ("checks", [1, 1, 2]),
        "checks-check.rubric": ("checks", [1]),
        "checks-check.polite": ("checks", [1]),
        **{
            f"checks-{name}-made-{of}": ("some-checks", depths)
            for name, of, depths in (
                ("check", "pred", [1, 1, 2]),
                ("check", "pred-depth-1", [1, 1]),
                ("check", "pred-depth-2", [2]),
                ("check", "gold", [1]),
                ("check", "gold-depth-1", [1]),
                ("check.contains", "pred", [1, 2]),
                ("check.contains", "pred-depth-1", [1]),
                ("check.contains", "pred-depth-2", [2]),
                ("check.contains", "gold", [1]),
                ("check.contains", "gold-depth-1", [1]),
                ("check.rubric", "pred", [1]),
                ("check.rubric", "pred-depth-1", [1]),
                ("check.polite", "pred", [1]),
                ("check.polite", "pred-depth-1", [1]),
            )
        },
    }
    assert found["checks-check-made-pred-depth-2"].title == "check: made, pred, depth 2"


def test_a_column_of_checks_is_no_score_that_says_yes_or_no(tmp_path):
    """It would be offered twice."""
    folder = checked_run(tmp_path / "run")

    assert Run(folder).scorers().keys() > {"check", "check.contains"}
    assert not any(id.startswith("score-") for id in rules_of(folder))
