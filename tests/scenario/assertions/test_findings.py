"""
Assertions on columns of checks: what could not be looked at never looks like success.

Assertions on pass^k and pass@k.
"""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from replay.core.expectation import NO_TIMES
from replay.report.findings import MOST_AGAINST, assertion_lines, lines_against
from replay.report.markdown import markdown_report
from replay.scenario.assertions.evaluation import Sampling, evaluate
from replay.scenario.assertions.section import Assertion, PassMetric, pass_metric
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.group import Group
from replay.statistics.repeats import repeat_numbers
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import ScoreColumn
from tests.data_tables import from_table
from tests.report.sample_checks import check, polite, value_of
from tests.report.sample_report import report
from tests.scenario.assertions.samples import judge
from tests.scorers.turns import turn
from tests.statistics.repeated import FAILED, played


def run_of(checks, name: str = "run") -> ScoredRun:
    """A run with a turn for each check that was looked at, and its columns."""
    places = dict.fromkeys((one.conversation, one.depth) for one in checks if one.asked)
    turns = [turn("No.", system="made", policy="pred", conversation=id, depth=depth) for id, depth in places]
    columns = dict.fromkeys(column for one in checks for column in one.columns)
    scores = {
        column: ScoreColumn(
            scorer=StoredScorer(signature=column, unit="share", lower_is_better=False),
            observed=[value_of(column, one, checks) for one in turns],
        )
        for column in columns
    }
    return ScoredRun(name=name, records=turns, scores=scores, signatures={}, checks=checks)


def unreached(conversation: str, depth: int):
    return check(conversation, depth, "never reached", asked=None, answer=None)


def test_all_of_the_few_that_were_looked_at_is_no_success():
    """A system that breaks down after the first turn passes whatever it came to."""
    run = run_of([check("a", 1, "+"), unreached("a", 2), unreached("a", 3)])
    found = judge(run, metric="check", min=1)

    assert found.findings[0].value == 1
    assert not found.holds
    assert found.findings[0].summary.endswith(
        "; 2 of 3 checks could not be looked at (2 never reached), more than max_unchecked allows (0)"
    )
    assert found.to_json()["findings"][0]["unchecked"] == 2


def test_nor_is_it_where_plays_are_counted():
    run = run_of([check("a", 1, "+"), unreached("a", 2)])
    found = judge(run, metric="pass^1(check)", min=1)

    assert (found.findings[0].value, found.holds) == (1, False)
    assert "1 of 2 checks could not be looked at (1 never reached)" in found.findings[0].summary
    assert judge(run, metric="pass^1(check)", min=1, max_unchecked=0.5).holds


@pytest.mark.parametrize(("allowed", "holds"), [(0.66, False), (2 / 3, True), (1, True)])
def test_as_many_as_the_scenario_says_may_have_been_impossible_to_look_at(allowed, holds):
    run = run_of([check("a", 1, "+"), unreached("a", 2), unreached("a", 3)])
    found = judge(run, metric="check", min=1, max_unchecked=allowed)

    assert found.holds == holds
    assert "2 of 3 checks could not be looked at (2 never reached)" in found.findings[0].summary


def test_only_checks_of_the_column_the_depths_and_the_group_count():
    others = [unreached("a", 3), polite("a", 2, "skipped"), check("a", 2, "skipped", policy="filter")]
    run = run_of([check("a", 1, "+"), check("a", 2, "+"), *others])

    assert judge(run, metric="check.contains", depth="<=2", min=1).holds
    assert not judge(run, metric="check.contains", min=1).holds
    assert not judge(run, metric="check.polite", depth=2, min=1).holds


def test_times_of_answers_that_were_kept_break_nothing_and_are_no_success_by_themselves():
    """`replay run --cache` twice: the second time nothing was asked, so nothing took any time."""
    kept = [check("a", 1, "+"), check("b", 2, NO_TIMES), check("c", 2, NO_TIMES)]
    found = judge(run_of(kept), metric="check", min=1)

    assert found.holds
    assert f"2 of 3 checks could not be looked at (2 {NO_TIMES})" in found.findings[0].summary
    assert not judge(run_of([*kept, unreached("a", 2)]), metric="check", min=1).holds
    assert not judge(run_of(kept[1:]), metric="check", min=1).holds


def test_a_change_is_no_success_either_where_checks_were_not_looked_at():
    before = run_of([check("a", 1, "+"), check("a", 2, "+")], "before")
    now = run_of([check("a", 1, "+"), unreached("a", 2)])
    found = judge(now, baseline=before, metric="check", compare="before", max_drop=0)

    assert not found.holds
    assert "1 of 2 checks could not be looked at" in found.findings[0].summary


def test_what_fails_is_named_and_very_many_are_counted():
    failing = [check(f"c{n}", 2, "-") for n in range(MOST_AGAINST + 2)]
    found = judge(run_of([check("a", 1, "+"), *failing]), metric="check", min=0.9)
    lines = assertion_lines([found])
    said = markdown_report(Report(table=report().table), title="t", results=[found])

    assert lines[3] == '        depth 2 of c0: contains "refund"'
    assert lines[-1] == "        and 2 more"
    assert len(lines) == 3 + MOST_AGAINST + 1
    assert "    - depth 2 of c0: contains" in said
    assert len(found.to_json()["findings"][0]["failed_checks"]) == MOST_AGAINST + 2


def test_a_failed_check_of_calls_is_named_with_what_was_called():
    called = 'called refund with {"order_id": "40233"}'
    wrong = {"kind": "calls", "value": "find_order", "evidence": f"{called}; expected find_order"}
    found = judge(run_of([check("a", 1, "-", **wrong)]), metric="check", min=0.9)

    assert assertion_lines([found])[-1] == f'        depth 1 of a: calls "find_order"; {called}'


def test_nothing_is_named_where_the_assertion_holds():
    found = judge(run_of([check("a", 1, "+"), check("b", 1, "-")]), metric="check", min=0.5)

    assert found.holds
    assert len(assertion_lines([found])) == 3


def test_of_several_plays_what_was_not_looked_at_fails_too():
    plays = [(check("a", 1, "+"), "a", 1), (check("a~2", 1, "+"), "a", 2), (unreached("a~2", 2), "a", 2)]
    run = run_of([one for one, *_ in plays])
    of = {one.conversation: (source, repeat) for one, source, repeat in plays}
    records = [replace(r, source=of[r.conversation][0], repeat=of[r.conversation][1]) for r in run.records]
    run = dataclasses.replace(run, records=records)
    found = judge(run, metric="pass^2(check)", min=1)

    assert (found.findings[0].value, found.holds) == (1, False)
    assert "1 of 3 checks could not be looked at" in found.findings[0].summary
    assert judge(run, metric="pass^2(check)", min=1, max_unchecked=0.4).holds


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


@from_table
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


@from_table
def test_what_too_few_plays_say_nothing_of_fails(metric, reason):
    found = finding(*PLAYS, metric=metric, min=0)
    assert (found.holds, found.reason) == (False, reason)


def test_a_score_that_is_no_yes_or_no_has_no_plays_that_pass():
    found = finding([[0.5], [1]], metric="pass^2(check)", min=0)
    assert found.reason == "check is more than a yes or no, so that no play of it passes"
