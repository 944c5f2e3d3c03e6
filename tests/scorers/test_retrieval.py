from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from replay.core.conversation import Passage
from replay.scorers.retrieval import (
    RetrievalScorer,
    hit_rate_scorer,
    modified_precision_scorer,
    mrr_scorer,
    ndcg_linear_scorer,
    ndcg_scorer,
    precision_at,
    precision_at_scorer,
    relevance,
)
from replay.scorers.scorer import Unscored
from replay.testing import ScorerContract
from tests.scorers.turns import skipped_turn, turn

ALL = [
    hit_rate_scorer(),
    mrr_scorer(),
    ndcg_scorer(),
    ndcg_linear_scorer(),
    modified_precision_scorer(),
    precision_at_scorer(),
]


def retrieved(ranking: str, gold: str = "a", **changes):
    """A turn whose passages and gold passages are letters."""
    passages = tuple(Passage(id=letter, text="...") for letter in ranking)
    return turn(passages=passages, gold_passages=tuple(gold), **changes)


class TestRetrievalScorersKeepTheContract(ScorerContract):
    @pytest.fixture(params=ALL, ids=lambda scorer: scorer.metric)
    def scorer(self, request):
        return request.param

    @pytest.fixture
    def records(self):
        """All with passages: an answer without any is read in the light of the others."""
        return [
            retrieved("xayz", depth=1),
            retrieved("wxyzvua", depth=2),
            retrieved("ab", "abc", depth=3),
            retrieved("ab", "", depth=4),
            retrieved("ab", depth=5, answer=None),
            skipped_turn(depth=6, gold_passages=("a",)),
        ]


def score(scorer: RetrievalScorer, ranking: str, gold: str) -> float:
    (observed,) = scorer.observe([retrieved(ranking, gold)])
    return observed


def test_the_check_values_of_ndcg():
    """Relevance 0, 1, 0, 1 with 3 gold passages: 0.75 of 11/6, and the standard form."""
    assert score(ndcg_linear_scorer(), "xayb", "abc") == pytest.approx(0.75 / (11 / 6))
    assert round(score(ndcg_linear_scorer(), "xayb", "abc"), 4) == 0.4091
    assert round(score(ndcg_scorer(), "xayb", "abc"), 4) == 0.4982


@pytest.mark.parametrize(
    ("scorer", "ranking", "gold", "value"),
    [
        (hit_rate_scorer(k=1), "xa", "a", 0),
        (hit_rate_scorer(k=2), "xa", "a", 1),
        (hit_rate_scorer(k=5), "xa", "ab", 1),
        (mrr_scorer(), "xyab", "ab", 1 / 3),
        (mrr_scorer(), "xy", "ab", 0),
        (mrr_scorer(k=2), "xya", "a", 0),
        (ndcg_scorer(k=1), "ab", "ab", 1),  # the best that one place allows
        (ndcg_scorer(k=2), "xab", "ab", (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        (modified_precision_scorer(), "xayb", "abc", 2 / 3),
        (modified_precision_scorer(k=2), "xayb", "abc", 1 / 3),
        (precision_at_scorer(k=4), "xayb", "abc", 2 / 4),
        (precision_at_scorer(k=5), "a", "a", 1 / 5),
        (precision_at_scorer(k=3), "aaa", "a", 1 / 3),  # twice the same is found once
        (RetrievalScorer(metric=precision_at), "xaby", "ab", 2 / 4),  # all places count
        (ndcg_linear_scorer(k=2), "xabc", "abc", (1 / 2) / (1 + 1 / 2)),
        (ndcg_scorer(k=5), "ab", "ab", 1),
        (modified_precision_scorer(), "ab", "aab", 1),  # a gold passage that is listed twice is one
        (ndcg_linear_scorer(), "aab", "ab", (1 + 1 / 3) / (1 + 1 / 2)),
    ],
)
def test_worked_examples(scorer, ranking, gold, value):
    assert score(scorer, ranking, gold) == pytest.approx(value)


@given(st.text("abcxyz", min_size=1), st.text("abcd", min_size=1), st.sampled_from(ALL))
def test_is_a_share_and_1_for_the_gold_passages_in_front(ranking, gold, scorer):
    assert 0 <= score(scorer, ranking, gold) <= 1
    if scorer.metric is not precision_at:
        assert score(scorer, "".join(dict.fromkeys(gold)) + "xyz", gold) == 1


def test_a_repeated_passage_is_relevant_once():
    assert relevance(["a", "b", "a"], ["a"]) == [True, False, False]


def test_an_answer_without_passages_is_a_miss_if_its_system_reports_passages_elsewhere():
    turns = [
        retrieved("a", system="retriever", depth=1),
        retrieved("", system="retriever", depth=2),
        retrieved("", system="silent", depth=1),
        retrieved("a", "", system="silent", depth=2, policy="gold"),
    ]

    assert hit_rate_scorer().observe(turns[:3]) == [
        1.0,
        0.0,
        Unscored(reason="the system reports no passages"),
    ]
    assert hit_rate_scorer().observe(turns)[2:] == [0.0, Unscored(reason="no gold passage")]
    assert precision_at_scorer().observe(turns)[1] == 0


def test_a_run_that_is_surveyed_in_parts_is_known_as_a_whole():
    """The part in which a system reports passages may be another one."""
    first, second = [retrieved("a", depth=1)], [retrieved("", depth=2)]
    scorer = hit_rate_scorer()

    assert scorer.survey(first).survey(second).observe(second) == [0.0]
    assert scorer.survey(second).survey(first).observe(second) == [0.0]
    assert scorer.survey(second).observe(second) == [Unscored(reason="the system reports no passages")]
    assert scorer.observe(second) == [Unscored(reason="the system reports no passages")]


def test_of_nothing_retrieved_every_metric_is_zero():
    turns = [retrieved("x", depth=1), retrieved("", depth=2)]

    assert [scorer.observe(turns)[1] for scorer in [*ALL, RetrievalScorer(metric=precision_at)]] == [0.0] * 7


def test_a_turn_is_unscored_for_the_first_reason_that_holds():
    reasons = [("", "", None), ("", "", "x"), ("", "a", "x")]
    found = hit_rate_scorer().observe([retrieved(r, g, answer=a) for r, g, a in reasons])

    assert [one.reason for one in found] == [
        "not answered: timed-out",
        "no gold passage",
        "the system reports no passages",
    ]


@pytest.mark.parametrize("k", [0, -1])
def test_a_cut_off_without_meaning_is_refused(k):
    with pytest.raises(ValueError, match=f"k: {k} is not a positive whole number"):
        hit_rate_scorer(k=k)
    assert score(hit_rate_scorer(k=1), "a", "a") == 1


def test_the_signatures_name_the_cut_off():
    assert [scorer.signature for scorer in ALL] == [
        "hit_rate:k5|by:id",
        "mrr:all|by:id",
        "ndcg:k10|by:id",
        "ndcg_linear:all|by:id",
        "modified_precision:all|by:id",
        "precision_at:k5|by:id",
    ]
