from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.answer_text import normalize
from replay.scorers.fuzzy import FuzzyMatch, WordIndex, fuzzy, fuzzy_match
from tests.scorers.turns import turn


@pytest.mark.parametrize(
    ("answer", "gold", "ratio"),
    [
        ("It was built in 1889, I believe.", "1889", 1),
        ("The Eiffel Tower", "eiffel tower!", 1),
        ("Curie", "Marie Curie", 1),  # it reads both ways
        ("abcd efgh", "abcd efgi", 16 / 17),  # "abcd efg" against all nine letters
        ("abcd", "abce", 3 / 4),  # of one word, whole words
        ("I know", "no", 2 / 3),
        ("party", "art", 3 / 4),
        ("abcd", "wxyz", 0),
        ("", "cat", 0),
        ("the", "cat", 0),
        ("?", "the", 1),
    ],
)
def test_the_shorter_text_is_looked_for_in_the_longer(answer, gold, ratio):
    assert fuzzy_match(answer, gold).ratio == pytest.approx(ratio)


@given(st.text(), st.text())
def test_the_ratio_is_a_share_and_equal_texts_match(one, other):
    assert 0 <= fuzzy_match(one, other).ratio <= 1
    assert fuzzy_match(one, one) == FuzzyMatch(ratio=1.0)


@given(st.text())
def test_words_are_normalized_one_by_one_as_the_whole_text_is(text):
    assert WordIndex(text).text == normalize(text)


@pytest.mark.parametrize(
    ("gold", "answer", "differs"),
    [
        ("In 1987.", "In 1988.", "figures"),
        ("fell to 5.2%", "rose to 5.2%", "direction"),
        ("Sales fell to 5.2", "Sales fell to 52", "figures"),
        ("It rose to 5.2%", "It did not rise to 5.2%", "negation"),
        ("It rose to 5.2%", "It didn't rise to 5.2%", "negation"),
        ("no", "I know", "negation"),
        ("3", "He was born in 1953.", "figures"),
        ("She moved to New York in 1996", "She moved to New York", "figures"),
        ("the capital is Paris, of course", "the capital is Lyon, of course", "names"),
        # What stands in other sentences, and in clauses before the match, is no difference.
        ("She moved to New York. In 1996 she married.", "She moved to New York.", None),
        ("rose to 5.2%", "Revenue did not fall. It rose to 5.2%.", None),
        ("he left the band", "He did not like touring, so he left the band.", None),
        ("He left the band because he did not like touring", "He left the band", None),
        ("Sales rose 5%", "Sales rose 7%. Profit rose 5%.", "figures"),
        ("It peaked at No. 3 in the U.S. Hot 100", "It peaked at No. 3 in the U.S. Hot 100 chart", None),
        ("It took 1,000 days", "It took 1000 days", None),
    ],
)
def test_what_is_stated_otherwise_where_they_match_is_no_match(gold, answer, differs):
    match = fuzzy_match(answer, gold)

    assert match.differs == differs
    assert match.reaches(0.5) is (differs is None)
    assert fuzzy(threshold=0).observe([turn(answer, gold)]) == [float(differs is None)]
    assert fuzzy(threshold=None).observe([turn(answer, gold)]) == [0.0 if differs else match.ratio]


def test_an_answer_that_differs_from_one_reference_may_match_another():
    assert fuzzy().observe([turn("In 1988.", "In 1987.", "in 1988"), turn("In 1989", "1987", "1988")]) == [
        1.0,
        0.0,
    ]


def test_only_declining_matches_a_question_without_an_answer():
    turns = [turn("no", "CANNOTANSWER"), turn("I don't know.", "CANNOTANSWER"), turn("CANNOTANSWER", "no")]

    assert fuzzy().observe(turns) == [0.0, 1.0, 0.0]


def test_the_threshold_makes_it_a_match_or_none():
    turns = [turn("abcd", "abce"), turn("abcd", "wxyz", "abcd efg")]

    assert fuzzy(threshold=0.75).observe(turns) == [1.0, 1.0]
    assert fuzzy(threshold=0.76).observe(turns) == [0.0, 1.0]
    assert fuzzy(threshold=0).observe([turn("abcd", "wxyz")]) == [1.0]
    assert fuzzy(threshold=1).observe(turns) == [0.0, 1.0]
    assert fuzzy(threshold=None).observe(turns) == [0.75, 1.0]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, 80.0, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold"):
        fuzzy(threshold=threshold)


def test_the_signature_names_the_threshold():
    assert fuzzy().signature == "fuzzy:partial+ends+squad+facts+max|threshold:0.8|declining:default"
    assert (
        fuzzy(threshold=None).signature
        == "fuzzy:partial+ends+squad+facts+max|threshold:none|declining:default"
    )


LOREM = " ".join(f"word{n}" for n in range(10_000))


@pytest.mark.parametrize("size", [5_000, 60_000])
def test_of_long_texts_beginning_and_end_are_compared_and_it_is_told(size):
    """The best place of 60,000 characters in others would take longer than anybody waits."""
    gold = LOREM[:size]
    match = fuzzy_match(gold.replace("word40 ", "ward40 "), gold)

    assert match.ratio == pytest.approx(0.999)  # one letter of a thousand
    assert match.shortened
    assert not fuzzy_match(gold, LOREM[size // 2 :][:900]).shortened
    assert fuzzy_match("Nothing of the kind. " * (size // 20), gold).ratio < 0.5


@pytest.mark.parametrize("start", [0, 25_000, 50_000])
def test_a_long_text_that_stands_in_another_is_found_wherever_it_stands(start):
    assert fuzzy_match(LOREM, LOREM[start : start + 9_000]) == FuzzyMatch(ratio=1.0)


def test_the_middle_of_a_very_long_answer_is_not_searched_for_what_is_nearly_there():
    answer = f"{LOREM[:40_000]} The Eiffel Towers. {LOREM[40_000:]}"

    assert fuzzy_match(answer, "Eiffel Towers").ratio == 1
    assert fuzzy_match(answer, "Eiffel Tawers").ratio < 0.8
    assert fuzzy_match(answer[35_000:45_000], "Eiffel Tawers").ratio > 0.9
