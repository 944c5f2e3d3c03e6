"""Scores of the words that answer and references share, and of those that were said before."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from replay.scorers.scorer import Unscored, lower_is_better
from replay.scorers.word_overlap import EARLIER_MISSING, NO_WORDS, em, f1, repetition, rouge1, rouge2, rouge_l
from replay.testing import ScorerContract
from tests.data_tables import from_table
from tests.scorers.turns import score_of, skipped_turn, turn

PHRASES = st.lists(
    st.sampled_from(["The", "a", "cats", "running", "ran", "mat.", "it's", "Policies", "on", "☃"]), max_size=8
).map(" ".join)
ROUGE = {"rouge1": rouge1, "rouge2": rouge2, "rougeL": rouge_l}


@from_table
def test_an_answer_matches_a_reference_or_not(answer, gold, score):
    assert score_of(em(), answer, gold) == score


def test_a_turn_without_a_gold_answer_is_unscored():
    assert em().observe([turn("Paris")]) == [Unscored(reason="no gold answer")]


def test_patterns_move_the_number():
    strict = em(declining=())
    turns = [turn("I don't know", "CANNOTANSWER")]

    assert (em().observe(turns), strict.observe(turns)) == ([1.0], [0.0])


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("in the city of Paris", ["Paris, France"], 1 / 3),  # precision 1/4, recall 1/2
        ("cat cat dog", ["cat"], 1 / 2),  # a word counts as often as both have it: 1/3, 1
        ("The.", ["an"], 1),  # nothing is left of either
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
def test_f1_is_symmetric(one, other):
    assert score_of(f1(), one, [other]) == score_of(f1(), other, [one])


def test_the_scorer_means_over_turns():
    scorer = f1()
    observed = scorer.observe([turn("in the city of Paris", "Paris, France"), turn("x", "x")])

    assert scorer.combine(observed) == pytest.approx((1 / 3 + 1) / 2)


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


@pytest.mark.parametrize("beta", [-1.0, float("nan"), float("inf")])
def test_a_beta_without_meaning_is_refused(beta):
    with pytest.raises(ValueError, match="beta"):
        rouge_l(beta=beta)


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
    ("kind", "answer", "gold", "score"),
    [
        ("rouge1", "the cat sat", ["the cat ran"], 2 / 3),
        ("rouge2", "the cat sat", ["the cat ran"], 1 / 2),
        ("rouge2", "the cat", ["dog", "the cat"], 1),
        ("rouge2", "cat", ["cat"], 0),  # no pair in either
        ("rouge1", "γάτα μικρή", ["γάτα"], 2 / 3),  # no word at all to rouge-score
    ],
)
def test_runs_in_common_count(kind, answer, gold, score):
    assert score_of(ROUGE[kind](), answer, gold) == pytest.approx(score)


@given(PHRASES, PHRASES, st.booleans(), st.sampled_from(list(ROUGE)))
def test_is_the_f_measure_of_rouge_score(answer, gold, stemmer, kind):
    from rouge_score.rouge_scorer import RougeScorer

    if answer.strip("☃ ") and gold.strip("☃ "):
        published = RougeScorer([kind], use_stemmer=stemmer).score(gold, answer)[kind].fmeasure
        assert score_of(ROUGE[kind](stemmer=stemmer), answer, [gold]) == pytest.approx(published)


def test_stems_are_of_english_words_past_three_letters_and_other_scripts_stay_whole():
    assert score_of(rouge1(stemmer=True), "he walked", ["he walks"]) == 1
    assert score_of(rouge1(stemmer=True), "was", ["wa"]) == 0
    assert score_of(rouge1(stemmer=True), "naïvely", ["naïvely"]) == 1
    assert score_of(rouge1(stemmer=True), "naïvely", ["ve"]) == 0


def test_the_stemmer_loads_neither_nltk_nor_scipy_and_leaves_nothing_in_their_place():
    code = (
        "import sys; from replay.scorers.answer_text import words\n"
        "assert words('running', 'plain', stemmer=True) == ['run']\n"
        "assert not [name for name in sys.modules if name.startswith(('nltk', 'scipy'))]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_published_columns_recompute(published_rows):
    for row in published_rows:
        answer, gold = row["Candidate Response"], [row["Golden Response"]]
        assert score_of(rouge1(stemmer=True), answer, gold) == pytest.approx(float(row["Rouge-1"]), abs=5e-5)
        assert score_of(rouge_l(stemmer=True), answer, gold) == pytest.approx(float(row["Rouge-L"]), abs=5e-5)


TIMED_OUT = Unscored(reason="not answered: timed-out")


def talk(*answers, **changes):
    """The turns of one conversation."""
    return [turn(answer, depth=depth, **changes) for depth, answer in enumerate(answers, 1)]


class TestRepetitionKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return repetition()

    @pytest.fixture
    def records(self):
        """Each the first turn of a conversation: a later one's score is not its own alone."""
        answers = ("ha ha ha ha ha", "It left on Monday.", None, "")
        return [turn(answer, conversation=f"c{number}") for number, answer in enumerate(answers)]

    def test_an_observation_does_not_depend_on_system_or_policy(self):
        some, others = talk("a b c d", "a b c d e"), talk("a b c d", "a b c d e", system="s", policy="gold")
        assert repetition().observe(some) == repetition().observe(others)


@pytest.mark.parametrize(
    ("answers", "shares"),
    [
        (("It left on Monday.", "It left on MONDAY!"), [0, 1]),
        (("It left on Monday.", "Yes, it left on Monday."), [0, 1 / 2]),
        (("It left on Monday.", "On Monday it left."), [0, 0]),
        (("I don't know.", "I don't know.", "I know."), [0, 1, 0]),
        (("go on and go on and go on and",), [3 / 6]),
        (("北京是中国的首都", "北京是中国的城市"), [0, 3 / 5]),
        (
            ("It left on Monday.", None, "It left on Monday."),
            [0, Unscored(reason="not answered: timed-out"), 1],
        ),
        (("...", "..."), [NO_WORDS, NO_WORDS]),
    ],
)
def test_runs_of_words_that_were_said_before_are_counted(answers, shares):
    assert repetition().observe(talk(*answers)) == [
        share if isinstance(share, Unscored) else pytest.approx(share) for share in shares
    ]


def test_only_the_same_play_counts():
    turns = [*talk("It left on Monday."), *talk("It left on Monday.", system="other")]
    assert repetition().observe(turns) == [0, 0]


def test_without_the_turns_before_there_is_no_number():
    assert repetition().observe(talk("It left on Monday.", "So it did.")[1:]) == [EARLIER_MISSING]


@given(st.lists(st.text(), max_size=6), st.randoms())
def test_the_order_of_the_records_plays_no_part(answers, random):
    turns = talk(*answers)
    shuffled = random.sample(turns, len(turns))
    found = dict(zip((one.depth for one in shuffled), repetition().observe(shuffled), strict=True))
    assert [found[one.depth] for one in turns] == repetition().observe(turns)
    assert all(isinstance(share, Unscored) or 0 <= share <= 1 for share in found.values())


def test_less_is_better_and_the_length_is_signed():
    assert lower_is_better(repetition())
    assert repetition().signature == "repetition:plain+cjk|runs:4|earlier-answers+own"
    assert repetition(length=2).signature == "repetition:plain+cjk|runs:2|earlier-answers+own"
    assert repetition(length=2).observe(talk("a b", "a b c")) == [0, 1 / 2]
    with pytest.raises(ValueError, match="length: 0 is not a positive whole number"):
        repetition(length=0)
