from __future__ import annotations

import json

import pytest

from replay.statistics.interval import UndefinedNumber
from replay.statistics.model_agreement import pairwise_agreement, ranking_agreement


def test_the_published_rankings():
    """
    Li et al. (ACL 2022): gold history puts BERT below GraphFlow, people put GraphFlow last.

    GraphFlow's two numbers are made up to fit the published order. Where the paper ties HAM and
    ExCorD, their accuracies differ by .1, which is an order here.
    """
    human = {"GraphFlow": 0.80, "BERT": 0.826, "HAM": 0.878, "ExCorD": 0.879}
    gold = {"BERT": 63.2, "GraphFlow": 63.9, "HAM": 65.4, "ExCorD": 67.7}
    found = ranking_agreement(gold, human)

    assert found.by_humans == (("ExCorD",), ("HAM",), ("BERT",), ("GraphFlow",))
    assert found.by_metric == (("ExCorD",), ("HAM",), ("GraphFlow",), ("BERT",))
    assert (found.same, found.pairs, found.agreeing) == (False, 6, 5)
    assert found.kendall == pytest.approx(4 / 6)


def test_a_tie_of_people_names_no_better_system_and_one_of_the_metric_is_no_agreement():
    found = ranking_agreement({"a": 1.0, "b": 1.0, "c": 3.0}, {"a": 0.5, "b": 0.7, "c": 0.7})

    assert found.by_metric == (("c",), ("a", "b"))
    assert found.by_humans == (("b", "c"), ("a",))
    assert (found.pairs, found.agreeing, found.same) == (2, 1, False)


def test_passages_by_hand():
    """Of five passages: agreed, agreed, opposed, tied by the metric, tied by people (left out)."""
    metric = {"a": [3, 1, 2, 2, 1], "b": [1, 3, 1, 2, 2]}
    human = {"a": [1, 0, 0, 1, 1], "b": [0, 1, 1, 0, 1]}
    means = {
        (system, f"p{n}"): (float(metric[system][n]), float(human[system][n]))
        for system in "ab"
        for n in range(5)
    }
    (found,) = pairwise_agreement(means)

    assert (found.passages, found.human_ties, found.metric_ties, found.agreeing) == (5, 1, 1, 2)
    assert found.share == 0.5
    assert found.interval.low == pytest.approx(0.1500, abs=5e-5)
    assert pairwise_agreement(dict(reversed(list(means.items())))) == [found]
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("cases", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_wilsons_on_published_examples(cases, of, low, high):
    """Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
    means = {("a", f"p{n}"): (1.0 if n < cases else -1.0, 1.0) for n in range(of)}
    (found,) = pairwise_agreement(means | {("b", f"p{n}"): (0.0, 0.0) for n in range(of)})

    assert (found.agreeing, found.passages) == (cases, of)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=5e-5)
    assert cases or found.interval.low == 0


def test_only_passages_that_both_systems_have_count():
    means = {("a", "p1"): (1.0, 1.0), ("b", "p1"): (0.0, 0.0), ("a", "p2"): (1.0, 1.0)}

    assert pairwise_agreement(means)[0].passages == 1


def test_without_a_preference_there_is_no_share():
    (found,) = pairwise_agreement({("a", "p1"): (1.0, 1.0), ("b", "p1"): (0.0, 1.0)})

    assert isinstance(found.share, UndefinedNumber)
    assert found.to_json()["share"] is None


def test_a_ranking_is_told_in_full():
    found = ranking_agreement({"a": 1.0, "b": 2.0, "x": 0.0}, {"b": 0.5, "a": 0.5 - 1e-10, "c": 0.0})

    assert found.to_json() == {
        "by_metric": (("b",), ("a",)),
        "by_humans": (("a", "b"),),  # the same up to the order of a sum
        "same": False,
        "kendall": found.kendall,
        "pairs": 0,
        "agreeing": 0,
    }
    alone = ranking_agreement({"a": 1.0}, {"a": 1.0})
    assert (alone.same, alone.to_json()["kendall"]) == (True, None)


def test_a_pair_is_told_in_full():
    means = {
        (s, f"p{n}"): (float(n * sign), float(sign)) for s, sign in (("b", 1), ("a", -1)) for n in range(4)
    }
    (found,) = pairwise_agreement(means, confidence=0.9)

    assert found.to_json() == {
        "first": "a",
        "second": "b",
        "passages": 4,
        "human_ties": 0,
        "metric_ties": 1,
        "agreeing": 3,
        "share": 0.75,
        "low": found.interval.low,
        "high": found.interval.high,
    }
    assert (found.interval.low, found.interval.high) == pytest.approx((0.3562, 0.9421), abs=1e-4)
    assert found.interval.high < pairwise_agreement(means)[0].interval.high


def test_means_that_differ_by_more_than_rounding_are_no_tie():
    assert ranking_agreement({"a": 2e-9, "b": 0.0}, {"a": 1.0, "b": 0.0}).by_metric == (("a",), ("b",))
    assert ranking_agreement({"a": 1e-9, "b": 0.0}, {"a": 1.0, "b": 0.0}).by_metric == (("a", "b"),)
