from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.bleu import Bleu4, bleu1, sentence_bleu, sentence_counts
from replay.scorers.scorer import Unscored
from replay.testing import ScorerContract
from tests.scorers.turns import score_of, skipped_turn, turn

PHRASES = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat"]), max_size=9).map(" ".join)


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
        ("?", ["!"], 1),
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


TEXTS = st.lists(
    st.sampled_from(["the", "cat", "sat", "on", "mat", "The", "U.S.-led", "$5.20", "well,"]),
    min_size=1,
    max_size=10,
).map(" ".join)


class TestBleu4KeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return Bleu4()

    @pytest.fixture
    def records(self):
        """With matches of every order: smoothing puts something for none, that more turns make smaller."""
        return [
            turn("the cat sat on the mat", "the cat sat on a mat", depth=1),
            turn("it sat on the mat today", "it sat on the mat", "the mat", depth=2),
            turn("I don't know", "CANNOTANSWER", depth=3),
            turn("\ud800", "☃", depth=4),
            turn("", "it sat", depth=5),
            turn(None, "it", depth=6),
            turn("it", depth=7),
            skipped_turn("it", depth=8),
        ]


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from(["exp", "floor", "add-k", "none"]),
    st.sampled_from(["13a", "intl", "char"]),
)
def test_is_sacrebleus_corpus_score(texts, lowercase, smooth, tokenize):
    from sacrebleu.metrics.bleu import BLEU

    scorer = Bleu4(lowercase=lowercase, smooth=smooth, tokenize=tokenize)
    answers, first, second = (list(column) for column in zip(*texts, strict=True))
    published = BLEU(lowercase=lowercase, smooth_method=smooth, tokenize=tokenize).corpus_score(
        answers, [first, second]
    )

    observed = scorer.observe([turn(a, f, s) for a, f, s in texts])
    assert scorer.combine(observed) == pytest.approx(min(1.0, published.score / 100))


def test_any_subset_is_a_corpus_of_its_own_and_not_a_mean():
    scorer = Bleu4()
    turns = [turn("the cat sat on the mat", "the cat sat on the mat"), turn("a dog ran off today", "no cat")]
    good, bad = scorer.observe(turns)

    assert scorer.combine([good]) == 1  # sacreBLEU's own is a rounding error above
    assert scorer.combine([bad]) == 0
    # 6 of 11 words match, 5 of 9 pairs, 4 of 7, 3 of 5; the answers are longer than the references.
    assert scorer.combine([good, bad]) == pytest.approx((6 / 11 * 5 / 9 * 4 / 7 * 3 / 5) ** 0.25)


def test_the_number_of_references_may_change_from_turn_to_turn():
    turns = [turn("the cat sat on the mat", "a cat", "the cat sat on the mat"), turn("so it was then", "so")]

    assert 0 < Bleu4().combine(Bleu4().observe(turns)) < 1


def test_an_answer_that_declines_is_one_word():
    declined, wrong = Bleu4().observe(
        [turn("I don't know.", "CANNOTANSWER"), turn("no idea", "CANNOTANSWER")]
    )

    assert declined == [1, 0, 0, 0, 1, 0, 0, 0, 1, 1]
    assert wrong[0] == 0


def test_short_answers_need_the_effective_order():
    turns = [turn("in Paris", "in Paris")]

    assert Bleu4().combine(Bleu4().observe(turns)) == 0
    effective = Bleu4(effective_order=True)
    assert effective.combine(effective.observe(turns)) == pytest.approx(1)


def test_answerable_questions_only():
    scorer = Bleu4(answerable_only=True)

    assert scorer.observe([turn("x", "CANNOTANSWER")]) == [Unscored(reason="unanswerable question")]
    assert scorer.signature.endswith("|questions:answerable")


def test_the_signature_is_like_sacrebleus():
    assert Bleu4().signature == "bleu4:sacrebleu|case:mixed|eff:no|tok:13a|smooth:exp|declining:default"
    assert "case:lc" in Bleu4(lowercase=True).signature


def test_counting_one_answer_warns_of_nothing(caplog):
    """sacreBLEU would advise another setting for scores of single sentences, which we don't take."""
    sentence_counts("in Paris", ["in Paris"], "13a")

    assert not caplog.records


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


def test_the_published_column_recomputes(published_rows):
    for row in published_rows:
        found = score_of(sentence_bleu(), row["Candidate Response"], [row["Golden Response"]])
        assert found == pytest.approx(float(row["Bleu Score"]), abs=5e-5)
