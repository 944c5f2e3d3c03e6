"""Numbers from judgements, against sums by hand."""

from __future__ import annotations

import json

import pytest

from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.people import read_people
from replay.statistics.score_column import ScoreColumn
from replay.study.preset import Results
from replay.study.running.numbers import study_numbers
from tests.study.made_up import NOBODY, a_study, rated

TWO_RATERS = {
    ("bot", "live", "c1"): [{"ann": 1, "ben": 1}, {"ann": 1, "ben": 0}],
    ("bot", "live", "c2"): [{"ann": 0, "ben": 0}, {"ann": 1, "ben": 1}],
}


def numbers(results, runs=(), **settings):
    return study_numbers(a_study(), NOBODY, results=results, runs=runs, resamples=200, **settings)


def column_of(values, **settings):
    scorer = StoredScorer(**{"signature": "f1:1", "unit": "share", "lower_is_better": False, **settings})
    return ScoreColumn(scorer=scorer, observed=values)


def table(people, title):
    return next(one for one in people.tables if one.title == title)


def test_a_turns_score_is_the_mean_over_raters_and_goes_by_depth():
    (group,) = numbers(rated(TWO_RATERS)).groups

    found = {row.depth: row.scores["human_correct"] for row in group.rows}
    assert {depth: one.value for depth, one in found.items()} == {1: 0.5, 2: 0.75, None: 0.625}
    assert found[None].low < 0.625 < found[None].high
    assert found[None].unit == "share"


def test_agreement_is_cohens_kappa_by_hand_over_all_and_at_each_depth():
    """Equal on 3 of 4; by chance .75 * .5 + .25 * .5 = .5, so kappa is (.75 - .5)/(1 - .5)."""
    people = numbers(rated(TWO_RATERS))

    first, second, every = table(people, "Agreement among raters").rows
    assert every[:5] == ("human_correct", "all", 4, 4, 2)
    assert every[5].value == 0.75
    assert every[6].value == pytest.approx(0.5)
    assert every[6].low < 0.5 < every[6].high
    assert (first[1], first[6].value) == (1, 1.0)
    assert (second[1], second[5].value, second[6].value) == (2, 0.5, pytest.approx(0))


def test_what_nobody_could_tell_is_no_zero():
    results = rated({("bot", "live", "c1"): [{"ann": None}, {"ann": 1, "ben": None}]})

    (group,) = numbers(results).groups
    first, second, every = (row.scores["human_correct"] for row in group.rows)
    assert (first.value, first.note) == (None, "whoever judged it could not tell")
    assert (second.value, every.value) == (1.0, 1.0)


def test_points_on_a_scale_are_no_share():
    results = rated({("bot", "live", "c1"): [{"ann": 1}, {"ann": 4}]})
    assert numbers(results).scores["human_correct"].unit == ""

    everywhere_worst = rated({("bot", "live", "c1"): [{"ann": 1}]})
    said = Results(
        records=everywhere_worst.records,
        conversations=(),
        scores=everywhere_worst.scores,
        units={"human_correct": ""},
    )
    assert numbers(said).scores["human_correct"].unit == ""


SYSTEMS = {
    ("good", "gold", "c1"): [{"ann": 1}],
    ("good", "gold", "c2"): [{"ann": 1}],
    ("bad", "gold", "c1"): [{"ann": 0}],
    ("bad", "gold", "c2"): [{"ann": 1}],
    ("good", "pred", "c1"): [{"ann": 1}],
    ("bad", "pred", "c1"): [{"ann": 0}],
}


def test_systems_are_ranked_by_people_and_by_scores_under_each_policy():
    """The score has people's order under gold and the other one under pred."""
    results = rated(SYSTEMS)
    scored = (results.records, {"f1": column_of([0.9, 0.8, 0.1, 0.2, 0.3, 0.6])})

    people = numbers(results, runs=[scored])

    ranks = table(people, "Systems as people and as scores rank them")
    shown = {row[2]: row[3:6] for row in ranks.rows}
    assert shown["gold"] == ("good > bad", "good > bad", "yes")
    assert shown["pred"] == ("good > bad", "bad > good", "no")
    # c1 tells the two apart, c2 doesn't; f1 names the same better one there under gold.
    pairs = {row[2]: row for row in table(people, "Pairs of systems, conversation by conversation").rows}
    assert pairs["gold"][3:7] == ("bad", "good", 2, 1)
    assert (pairs["gold"][7].value, pairs["pred"][7].value) == (1.0, 0.0)
    assert {row[2]: row[3] for row in table(people, "People and scores, turn by turn").rows} == {
        "all": 6,
        "gold": 4,
        "pred": 2,
    }


def test_automatic_scores_are_those_of_judged_turns_alone():
    results = rated(SYSTEMS)
    played = rated({**SYSTEMS, ("good", "gold", "c3"): [{}]}).records
    scored = (played, {"f1": column_of([0.9, 0.8, 0.1, 0.2, 0.3, 0.6, 0.0])})

    group = next(one for one in numbers(results, runs=[scored]).groups if one.system == "good")

    assert group.rows[-1].scores["f1"].value == pytest.approx(0.85)
    assert group.rows[-1].turns == 2


def test_scorers_that_differ_are_no_single_column():
    results = rated(SYSTEMS)
    half = 3
    runs = [
        (results.records[:half], {"f1": column_of([0.9, 0.8, 0.1])}),
        (results.records[half:], {"f1": column_of([0.2, 0.3, 0.6], signature="f1:2")}),
    ]
    assert list(numbers(results, runs=runs).scores) == ["human_correct", "f1", "f1 (f1:2)"]


def test_latency_ranks_nothing():
    results = rated(SYSTEMS)
    slow = column_of([1.0] * 6, unit="s", lower_is_better=True)
    people = numbers(results, runs=[(results.records, {"latency": slow})])
    assert "latency" in people.scores
    assert [one.title for one in people.tables] == []


def test_numbers_are_plain_values_and_come_back():
    people = numbers(rated(TWO_RATERS))
    again = read_people(json.loads(json.dumps(people.to_json())))
    assert again.to_json() == json.loads(json.dumps(people.to_json()))


def test_a_study_without_a_judgement_has_no_numbers_yet():
    people = numbers(rated({}))
    assert (people.all_tables, people.groups) == ([], [])
