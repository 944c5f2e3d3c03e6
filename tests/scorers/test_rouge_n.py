from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.word_overlap import rouge1, rouge2, rouge_l
from replay.testing import ScorerContract
from tests.scorers.turns import score_of, skipped_turn, turn

PHRASES = st.lists(
    st.sampled_from(["The", "cats", "running", "ran", "mat", "it's", "Policies", "on"]), max_size=8
).map(" ".join)
ROUGE = {1: rouge1, 2: rouge2}


class TestRouge2WithStemmerKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return rouge2(stemmer=True, tokens="squad", answerable_only=True)

    @pytest.fixture
    def records(self):
        """With pairs of words; equal texts of one word have none, and score 0."""
        return [
            turn("the old cat sat", "the old cat ran", depth=1),
            turn("cat", "cat", depth=2),
            turn("two cats sat", "dogs", "two cats sat", depth=3),
            turn("something", depth=4),
            turn(None, "cat", depth=5),
            skipped_turn("cat", depth=6),
        ]


@pytest.mark.parametrize(
    ("answer", "gold", "n", "score"),
    [
        ("the cat sat", ["the cat ran"], 1, 2 / 3),
        ("the cat sat", ["the cat ran"], 2, 1 / 2),
        ("the cat", ["dog", "the cat"], 2, 1),
        ("cat", ["cat"], 2, 0),  # no pair in either
        ("cat", ["dog"], 2, 0),
        ("", ["cat"], 1, 0),
        ("?", ["!"], 1, 1),
        ("γάτα μικρή", ["γάτα"], 1, 2 / 3),  # no word at all to rouge-score
        ("I don't know", ["CANNOTANSWER"], 1, 1),
        ("I don't know", ["I don't know him"], 1, 0),
    ],
)
def test_runs_in_common_count(answer, gold, n, score):
    assert score_of(ROUGE[n](), answer, gold) == pytest.approx(score)


@given(PHRASES, PHRASES, st.booleans(), st.sampled_from([1, 2]))
def test_is_the_f_measure_of_rouge_score(answer, gold, stemmer, n):
    from rouge_score.rouge_scorer import RougeScorer

    if answer or gold:
        kind = f"rouge{n}"
        published = RougeScorer([kind], use_stemmer=stemmer).score(gold, answer)[kind].fmeasure
        assert score_of(ROUGE[n](stemmer=stemmer), answer, [gold]) == pytest.approx(published)


@given(PHRASES, PHRASES)
def test_rouge_l_is_the_packages_with_stemmer_too(answer, gold):
    from rouge_score.rouge_scorer import RougeScorer

    if answer and gold:
        published = RougeScorer(["rougeL"], use_stemmer=True).score(gold, answer)["rougeL"].fmeasure
        assert score_of(rouge_l(stemmer=True), answer, [gold]) == pytest.approx(published)


def test_stems_are_of_english_words_past_three_letters_and_other_scripts_stay_whole():
    assert score_of(rouge1(stemmer=True), "he walked", ["he walks"]) == 1
    assert score_of(rouge1(stemmer=True), "was", ["wa"]) == 0
    assert score_of(rouge1(stemmer=True), "naïvely", ["naïvely"]) == 1
    assert score_of(rouge1(stemmer=True), "naïvely", ["ve"]) == 0


@given(st.text())
def test_equal_texts_score_1(text):
    assert score_of(rouge1(), text, [text]) == 1


def test_the_published_columns_recompute(published_rows):
    for row in published_rows:
        answer, gold = row["Candidate Response"], [row["Golden Response"]]
        assert score_of(rouge1(stemmer=True), answer, gold) == pytest.approx(float(row["Rouge-1"]), abs=5e-5)
        assert score_of(rouge_l(stemmer=True), answer, gold) == pytest.approx(float(row["Rouge-L"]), abs=5e-5)
