"""Scores of runs that nobody judged, against what people said of talks, by hand."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.errors import InputError
from replay.study.preset import Results
from replay.study.running.numbers import study_numbers
from replay.testing.cases import turn
from tests.study.made_up import NOBODY, a_study, rated
from tests.study.running.test_numbers import column_of, table

TALKS = {
    ("good", "live", "c1~1"): [{"ann": 1}, {"ann": 1}],
    ("good", "live", "c2~2"): [{"ann": 0}],
    ("bad", "live", "c1~3"): [{"ann": 0}],
    ("bad", "live", "c2~4"): [{"ann": 1}, {"ann": 0}],
    ("good", "live", "c9~5"): [{"ann": 0}, {"ann": 0}, {"ann": 0}],
}


def talked():
    """Talks about ``c1``, ``c2`` and, with one system, ``c9``."""
    found = rated(TALKS)
    records = [msgspec.structs.replace(r, source=r.conversation.partition("~")[0]) for r in found.records]
    return Results(records=records, conversations=found.conversations, scores=found.scores)


def played(values):
    """A run's scores by system, policy and conversation."""
    records = [turn(system=s, policy=p, conversation=c) for s, p, c in values]
    return records, {"f1": column_of(list(values.values()))}


def numbers(run, name="runs"):
    return study_numbers(a_study(), NOBODY, results=talked(), against={name: run}, resamples=50)


SCORES = {
    ("good", "gold", "c1"): 0.9,
    ("good", "gold", "c2"): 0.8,
    ("bad", "gold", "c1"): 0.1,
    ("bad", "gold", "c2"): 0.9,
    ("good", "pred", "c1"): 0.2,
    ("good", "pred", "c2"): 0.2,
    ("bad", "pred", "c1"): 0.6,
    ("bad", "pred", "c2"): 0.1,
    # About this one nobody talked with the other system.
    ("bad", "pred", "c9"): 1.0,
}


def test_systems_are_ranked_by_people_and_under_each_policy_on_conversations_of_both():
    """People: good 2/3 of three turns, bad 1/3. F1 under gold: .85 and .5; under pred .2 and .35."""
    ranks = table(numbers(played(SCORES)), "Systems as people and as scores rank them, of other runs")

    assert {row[2]: row[3:6] for row in ranks.rows} == {
        "gold of runs": ("good > bad", "good > bad", "yes"),
        "pred of runs": ("good > bad", "bad > good", "no"),
    }


def test_pairs_are_compared_passage_by_passage():
    """People: good on c1 (1 over 0), bad on c2 (0 under .5). Gold says the same of both, pred of neither."""
    pairs = table(numbers(played(SCORES)), "Pairs of systems, conversation by conversation, of other runs")

    assert {row[2]: (row[5], row[6], row[7].value) for row in pairs.rows} == {
        "gold of runs": (2, 2, 1.0),
        "pred of runs": (2, 2, 0.0),
    }


def test_talks_about_one_conversation_are_one_passage():
    results = talked()
    scored = (results.records, {"f1": column_of([1.0] * len(results.records))})
    people = study_numbers(a_study(), NOBODY, results=results, runs=[scored], resamples=0)

    (pair,) = table(people, "Pairs of systems, conversation by conversation").rows
    assert pair[5:7] == (2, 2), "c1 and c2, each with a talk of both systems"


def test_a_run_of_other_systems_is_told_what_people_judged():
    with pytest.raises(
        InputError, match='"runs" has no system that people judged, too: they judged bad, good'
    ):
        numbers(played({("else", "gold", "c1"): 1.0}))
    with pytest.raises(InputError, match=r"no conversation of one system .* such as c1"):
        numbers(played({("good", "gold", "c77"): 1.0}))
