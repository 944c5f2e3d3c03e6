from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.bleu import bleu1
from tests.scorers.turns import score_of

PHRASES = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat"]), max_size=8).map(" ".join)


MILITARY = [
    "It is a guide to action that ensures that the military will forever heed Party commands.",
    "It is the guiding principle which guarantees the military forces always being under the command "
    "of the Party.",
    "It is the practical guide for the army always to heed the directions of the party.",
]


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        # Papineni et al., 2002, section 2.1: example 1 (17/18, 8/14) and example 2 (2/7).
        (
            "It is a guide to action which ensures that the military always obeys the commands of the party.",
            MILITARY,
            17 / 18,
        ),
        (
            "It is to insure the troops forever hearing the activity guidebook that party direct.",
            MILITARY,
            8 / 14,
        ),
        ("the the the the the the the.", ["The cat is on the mat.", "There is a cat on the mat."], 2 / 7),
        ("cat", ["The cat is on the mat."], 1),  # no brevity penalty
        ("cat dog", ["cat", "dog"], 1),  # two references cover it together
        ("", ["cat"], 0),
        ("?", ["!"], 1),
        ("I don't know", ["CANNOTANSWER"], 1),
        ("I don't know", ["I don't know him"], 0),
    ],
)
def test_clipped_precision(answer, gold, score):
    assert score_of(bleu1(), answer, gold) == pytest.approx(score)


def test_squad_words_leave_out_articles():
    assert score_of(bleu1(), "the cat", ["a cat"]) == 1 / 2
    assert score_of(bleu1(tokens="squad"), "the cat", ["a cat"]) == 1


@given(PHRASES, PHRASES)
def test_is_sacrebleus_first_precision(answer, gold):
    """sacreBLEU's own first-order precision, before brevity penalty and smoothing."""
    from sacrebleu.metrics.bleu import BLEU

    if answer and gold:
        score = BLEU(max_ngram_order=1, smooth_method="none").corpus_score([answer], [[gold]])
        assert score_of(bleu1(), answer, [gold]) == pytest.approx(score.precisions[0] / 100)


@given(PHRASES, st.lists(PHRASES, min_size=1, max_size=3))
def test_is_between_0_and_1_and_no_worse_with_another_reference(answer, gold):
    assert 0 <= score_of(bleu1(), answer, gold) <= 1
    assert score_of(bleu1(), answer, [*gold, "the mat"]) >= score_of(bleu1(), answer, gold)
