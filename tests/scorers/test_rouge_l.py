from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.word_overlap import rouge_l
from tests.scorers.turns import score_of

PHRASES = st.lists(st.sampled_from(["The", "cat", "sat", "on", "mat", "it's"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        # Lin, 2004, section 3.1, beta = 1: S2, S3 and S4 against S1.
        ("police kill the gunman", 3 / 4),
        ("the gunman kill police", 2 / 4),
        ("the gunman police killed", 2 / 4),
    ],
)
def test_the_examples_of_the_paper(answer, score):
    assert score_of(rouge_l(), answer, ["police killed the gunman"]) == pytest.approx(score)


def test_beta_weighs_recall():
    """LCS 2, P = 2/3, R = 2/4."""
    answer, gold = "b d e", ["a b c d"]

    for beta in (0.5, 1.0, 1.2, 8.0):
        formula = (1 + beta**2) * (2 / 4) * (2 / 3) / (2 / 4 + beta**2 * (2 / 3))
        assert score_of(rouge_l(beta=beta), answer, gold) == pytest.approx(formula)
    assert score_of(rouge_l(beta=0), answer, gold) == pytest.approx(2 / 3)
    assert score_of(rouge_l(beta=1e6), answer, gold) == pytest.approx(2 / 4)


@given(PHRASES, PHRASES)
def test_is_the_f_measure_of_rouge_score(answer, gold):
    from rouge_score.rouge_scorer import RougeScorer

    if answer and gold:
        published = RougeScorer(["rougeL"], use_stemmer=False).score(gold, answer)["rougeL"].fmeasure
        assert score_of(rouge_l(), answer, [gold]) == pytest.approx(published)


@given(PHRASES, st.lists(PHRASES, min_size=1, max_size=3), st.floats(min_value=0, max_value=10))
def test_is_between_0_and_1_and_takes_the_best_reference(answer, gold, beta):
    score = score_of(rouge_l(beta=beta), answer, gold)

    assert 0 <= score <= 1
    assert score == max(score_of(rouge_l(beta=beta), answer, [one]) for one in gold)


@pytest.mark.parametrize(
    ("answer", "gold", "score"), [("", "cat", 0), ("cat", "", 0), ("?", "", 1), ("I don't know", "cat", 0)]
)
def test_texts_without_words_and_declining_answers(answer, gold, score):
    assert score_of(rouge_l(), answer, [gold]) == score


@pytest.mark.parametrize("beta", [-1.0, float("nan"), float("inf")])
def test_a_beta_without_meaning_is_refused(beta):
    with pytest.raises(ValueError, match="beta"):
        rouge_l(beta=beta)
