from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.bleu import sentence_bleu
from tests.scorers.turns import score_of

PHRASES = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat.", "The"]), max_size=9).map(" ".join)


def test_the_worked_example():
    precisions = (5 / 6, 3 / 5, 2 / 4, 1 / 3)
    mean = (precisions[0] * precisions[1] * precisions[2] * precisions[3]) ** 0.25

    assert score_of(sentence_bleu(), "the cat sat on the mat", ["the cat sat on a mat"]) == pytest.approx(
        mean
    )
    assert round(mean, 4) == 0.5373


@given(PHRASES, st.lists(PHRASES, min_size=1, max_size=3))
def test_is_nltks_with_method_1(answer, gold):
    bleu = pytest.importorskip("nltk.translate.bleu_score")
    if answer and all(gold):
        smoothing = bleu.SmoothingFunction().method1
        published = bleu.sentence_bleu(
            [one.split() for one in gold], answer.split(), smoothing_function=smoothing
        )
        assert score_of(sentence_bleu(), answer, gold) == pytest.approx(float(published))


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [("", "cat", 0), ("", " ", 1), ("cat", "", 0), ("cat", "dog", 0), ("I don't know", "CANNOTANSWER", 1)],
)
def test_texts_without_words_and_declining_answers(answer, gold, score):
    assert score_of(sentence_bleu(), answer, [gold]) == score


def test_the_published_column_recomputes(published_rows):
    for row in published_rows:
        found = score_of(sentence_bleu(), row["Candidate Response"], [row["Golden Response"]])
        assert found == pytest.approx(float(row["Bleu Score"]), abs=5e-5)
