"""Figures are read however they are written."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from replay.scorers.figures import DECADE, Figure, figures
from tests.data_tables import from_table


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


@pytest.mark.parametrize(
    "text", ["5 million" + " million" * 200_000, "ten" + " hundred" * 200_000, "9" * 5000]
)
def test_a_number_without_end_is_read_at_once(text):
    assert figures(text)


@given(st.text(), st.integers(0, 10**12))
def test_any_text_can_be_read_and_grouping_changes_nothing(text, number):
    figures(text)
    assert read(f"{number:,}") == read(str(number)) == [(str(number), None)]
