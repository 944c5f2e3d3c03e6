"""Whether a gold answer stands in an answer: the match, figures, and what texts state otherwise."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from replay.scorers.answer_text import normalize
from replay.scorers.figures import DECADE, Figure, figures
from replay.scorers.fuzzy import FuzzyMatch, WordIndex, denials, difference, fuzzy, fuzzy_match
from tests.data_tables import from_table
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


@from_table
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


def read(text: str) -> list[tuple[str, str | None]]:
    return [(f"{one.value.normalize():f}", one.unit) for one in figures(text)]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (("5.2", "percent"), ["5.2%", "5.2 %", "5,2 percent", "5.20 per cent", "5.2 pct"]),
        (
            ("1000", None),
            ["1,000", "1000", "1'000", "1\u202f000", "one thousand", "a thousand", "1k", "1000.0"],
        ),
        (("1234567", None), ["1,234,567", "1.234.567", "1234567"]),
        (("1234.5", None), ["1,234.5", "1.234,5", "1234.50"]),
        (("1.234", None), ["1.234"]),
        (
            ("2500000000", "dollar"),
            ["$2.5 bn", "$2.5bn", "$2.5b", "2,500,000,000 dollars", "2.5 billion USD", "US$2.5 billion"],
        ),
        (("5000000", "euro"), ["€5m", "5 million euros", "€ 5 mn", "five million EUR"]),
        (("5", "metre"), ["5m", "5 m", "five metres"]),
        (("20", None), ["20", "twenty", "20."]),
        (("25304", None), ["twenty-five thousand three hundred and four", "25,304"]),
        (("123000000", None), ["one hundred twenty-three million", "123 million"]),
        (("2300000", None), ["two million three hundred thousand", "2.3 million"]),
        (("1987", None), ["1987", "nineteen eighty-seven"]),
        (("2005", None), ["two thousand and five", "2005", "two thousand five"]),
        (("1980", DECADE), ["the 1980s", "the eighties"]),
        (("-5.2", "percent"), ["-5.2%", "−5.2 %", "minus 5.2 percent", "(-5.2%)"]),
        (("-5", "dollar"), ["-$5", "minus 5 dollars"]),
        (("5", "dollar"), ["$5 USD", "5 dollars", "$5.00"]),
        (("5", "year"), ["5 years", "a 5-year plan", "five yrs"]),
        (("5", "percentage point"), ["5 percentage points", "five percentage points"]),
        (("25", "basis point"), ["25 basis points"]),
        (("0.5", None), [".5", "0.5", "0,5"]),
    ],
)
def test_one_figure_has_many_spellings(value, texts):
    for text in texts:
        assert read(text) == [value], text


@from_table
def test_where_one_figure_ends_and_the_next_begins(text, values):
    assert [value for value, _ in read(text)] == values


def test_what_is_a_figure_in_some_texts_only_is_not_missed_in_others():
    found = figures("One of the first was made on Monday, 3 May 1987, the 21st")

    assert [(one.kind, int(one.value), one.needed) for one in found] == [
        ("number", 1, False),
        ("ordinal", 1, False),
        ("weekday", 1, False),
        ("number", 3, True),
        ("month", 5, False),
        ("number", 1987, True),
        ("ordinal", 21, True),
    ]
    assert figures("may and march") == []


def test_a_unit_that_one_lacks_is_no_difference_and_another_unit_is():
    five, km, miles = Figure(value=Decimal(5)), *(Figure(value=Decimal(5), unit=u) for u in ("km", "mile"))
    decade = Figure(value=Decimal(5), unit=DECADE)

    assert five.same(km)
    assert km.same(five)
    assert not km.same(miles)
    assert not five.same(decade)
    assert decade.same(decade)
    assert five.same(Figure(value=Decimal(-5), kind="ordinal"))
    assert not five.same(Figure(value=Decimal(5), kind="month"))


@pytest.mark.parametrize("text", ["5 million" + " million" * 50_000, "ten" + " hundred" * 50_000, "9" * 5000])
def test_a_number_without_end_is_read_at_once(text):
    assert figures(text)


@given(st.text(), st.integers(0, 10**12))
def test_any_text_can_be_read_and_grouping_changes_nothing(text, number):
    figures(text)
    assert read(f"{number:,}") == read(str(number)) == [(str(number), None)]


@from_table
def test_a_difference_has_a_name(gold, answer, found):
    assert difference(gold, answer) == found


@given(st.text())
def test_no_text_differs_from_itself(text):
    assert difference(text, text) is None


@from_table
def test_denials_are_counted(text, count):
    assert denials(text) == count
