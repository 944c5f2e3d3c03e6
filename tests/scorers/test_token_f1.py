from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.word_overlap import em, f1
from tests.data_tables import from_table
from tests.scorers.turns import score_of, turn

PHRASES = st.lists(st.sampled_from(["The", "a", "cat", "sat", "SAT,", "mat.", "☃", "I don't know", ""])).map(
    " ".join
)


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("in the city of Paris", ["Paris, France"], 1 / 3),  # precision 1/4, recall 1/2
        ("cat cat dog", ["cat"], 1 / 2),  # a word counts as often as both have it: 1/3, 1
        ("cat", ["dog", "the cat"], 1),  # the best reference
        ("", ["cat"], 0),
        ("The.", ["an"], 1),  # nothing is left of either
        ("CANNOTANSWER", ["CANNOTANSWER"], 1),
        ("I don't know.", ["CANNOTANSWER"], 1),
        ("I don't know.", ["I don't like it"], 0),  # shares words, but declines
        ("I don't like it", ["CANNOTANSWER", "I don't like it"], 0),
        ("CANNOTANSWER", ["CANNOTANSWER", "cat", "dog"], 0),
    ],
)
def test_words_in_common_count(answer, gold, score):
    assert score_of(f1(), answer, gold) == pytest.approx(score)


@from_table
def test_chinese_has_the_numbers_of_mlqa(answer, gold, score, equal):
    """By mlqa_evaluation_v1.py (facebookresearch/MLQA, 5ef5c73) for "zh"."""
    assert score_of(f1(), answer, [gold]) == pytest.approx(score)
    assert score_of(em(), answer, [gold]) == equal


@given(PHRASES, PHRASES)
def test_f1_is_symmetric_and_between_0_and_1(one, other):
    assert score_of(f1(), one, [other]) == score_of(f1(), other, [one])
    assert 0 <= score_of(f1(), one, [other]) <= 1


@given(PHRASES, st.lists(st.sampled_from(["cat", "the mat", "sat on", "dog"]), min_size=1), st.randoms())
def test_the_order_of_references_does_not_matter(answer, gold, random):
    shuffled = random.sample(gold, len(gold))

    assert score_of(f1(), answer, shuffled) == score_of(f1(), answer, gold)
    assert score_of(f1(), answer, gold) == max(score_of(f1(), answer, [one]) for one in gold)


def test_the_scorer_means_over_turns():
    scorer = f1()
    observed = scorer.observe([turn("in the city of Paris", "Paris, France"), turn("x", "x")])

    assert scorer.combine(observed) == pytest.approx((1 / 3 + 1) / 2)
