"""Assertions on pass^k and pass@k."""

from __future__ import annotations

import pytest

from replay.report.findings import lines_against
from replay.scenario.assertions.evaluation import evaluate
from replay.scenario.assertions.pass_metric import PassMetric, pass_metric
from replay.scenario.assertions.section import Assertion
from replay.statistics.estimate import Sampling
from replay.statistics.group import Group
from replay.statistics.repeats import repeat_numbers
from replay.statistics.run_comparison import ScoredRun
from tests.data_tables import from_table
from tests.statistics.repeated import FAILED, played

PLAYS = ([[1, 1], [1, 0]], [[1, 1], [1, 1]], [[0, 1], [1, 1]], [[1, 1], [1, FAILED]])


def finding(*conversations, metric, **asserted):
    records, scores = played(*conversations)
    (found,) = evaluate(
        ScoredRun(name="run", records=records, scores=scores, signatures={}),
        [Assertion.model_validate({"metric": metric, **asserted})],
        groups=[Group("s", "pred")],
        baseline=lambda _: pytest.fail("nothing is compared"),
        sampling=Sampling(seed=0, resamples=200),
    )
    return found.findings[0]


@pytest.mark.parametrize(
    ("metric", "meant"),
    [
        ("pass^3(check)", PassMetric("^", 3, "check", False)),
        ("pass@12(rouge_l(beta=2))", PassMetric("@", 12, "rouge_l(beta=2)", False)),
        ("pass^2(check, conversations)", PassMetric("^", 2, "check", True)),
        ("pass^0(check)", None),
        ("pass^(check)", None),
        ("pass^3", None),
        ("check", None),
    ],
)
def test_the_form(metric, meant):
    assert pass_metric(metric) == meant


@pytest.mark.parametrize(
    ("metric", "asserted", "value", "turns"),
    [
        ("pass^1(check)", {}, (1 + 1 / 2 + 1 + 1 + 1 / 2 + 1 + 1 + 1) / 8, 8),
        ("pass^2(check)", {}, 5 / 7, 7),
        ("pass@2(check)", {}, 1, 7),
        ("pass^2(check)", {"depth": 2}, 2 / 3, 3),
        ("pass^1(check, conversations)", {}, (1 / 2 + 1 + 1 / 2 + 1) / 4, 8),
        ("pass^2(check, conversations)", {}, 1 / 3, 6),
    ],
)
def test_the_number_is_held_against_its_bound(metric, asserted, value, turns):
    assert finding(*PLAYS, metric=metric, min=value - 1e-9, **asserted).holds
    found = finding(*PLAYS, metric=metric, max=value - 1e-6, **asserted)
    assert not found.holds
    assert (found.value, found.turns) == (pytest.approx(value), turns)


def test_the_number_and_its_interval_are_those_of_the_report():
    records, scores = played(*PLAYS)
    whole = repeat_numbers(records, scores, 2, resamples=200).curves[-1].passes_all[0]
    found = finding(*PLAYS, metric="pass^1(check, conversations)", min=0)
    assert (found.value, found.low, found.high) == (whole.value, whole.low, whole.high)


def test_a_failed_one_names_the_plays_that_did_not_pass():
    found = finding(*PLAYS, metric="pass^2(check)", min=0.9)
    assert found.against == (("c0~2", 2), ("c2", 1))
    assert found.cases_against == (
        "depth 2 of c0: passed in 1 of 2 plays, not in play 2",
        "depth 1 of c2: passed in 1 of 2 plays, not in play 1",
    )
    assert found.summary.endswith("on 7 turns of 4 conversations; 1 turn left out with fewer than 2 plays")
    assert finding(*PLAYS, metric="pass^2(check)", min=0.5).cases_against == ()


@from_table
def test_it_names_only_what_makes_the_number_too_low_or_too_high(metric, asserted, against, cases):
    plays = ([[1, 1], [1, 0], [0, 1]], [[0, 1], [0, 1], [0, FAILED]])
    found = finding(*plays, metric=metric, **asserted)
    assert (set(found.against), found.cases_against) == ({*against}, cases)


def test_the_lines_of_a_failed_one_are_few():
    lines = list(lines_against(finding(*[[[1], [0]]] * 7, metric="pass^2(check)", min=1)))
    assert lines[0] == "depth 1 of c0: passed in 1 of 2 plays, not in play 2"
    assert (len(lines), lines[-1]) == (6, "and 2 more")


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("pass^3(check)", "no turn has 3 plays with a score"),
        ("pass^3(check, conversations)", "no conversation has 3 plays with a score"),
    ],
)
def test_what_too_few_plays_say_nothing_of_fails(metric, reason):
    found = finding(*PLAYS, metric=metric, min=0)
    assert (found.holds, found.reason) == (False, reason)


def test_a_score_that_is_no_yes_or_no_has_no_plays_that_pass():
    found = finding([[0.5], [1]], metric="pass^2(check)", min=0)
    assert found.reason == "check is more than a yes or no, so that no play of it passes"
