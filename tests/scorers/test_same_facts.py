"""What two texts state otherwise, though they are alike letter by letter."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.same_facts import denials, difference
from tests.data_tables import from_table


@pytest.mark.parametrize(
    ("gold", "answer", "found"),
    [
        ("In 1987.", "In 1988.", "figures"),
        ("In 1987.", "It was in 1987, not in 1988.", None),
        ("In 1987.", "In the year", "figures"),
        ("It rose to 5.2 %", "It rose to 5,2 percent", None),
        ("It rose to 5.2 %", "It rose to 5.2 percentage points", "figures"),
        ("Sales were 5 million, profit 3 million", "Sales were 3 million, profit 5 million", "figures"),
        ("$5 million", "€5 million", "figures"),
        ("$5 million", "5,000,000", None),
        ("5 million", "5 billion", "figures"),
        ("They made twenty songs", "They made 20 songs", None),
        ("one song", "1 song", None),
        ("1 song", "one song", None),
        ("1 song", "a song", "figures"),
        ("-5%", "5%", "figures"),
        ("5%", "-5%", "figures"),
        ("-5%", "it fell by 5%", None),
        ("a loss of $5", "-$5", None),
        ("-5%", "5% after that", "figures"),
        ("the second quarter", "the third quarter", "figures"),
        ("his second album", "his album", None),
        ("the 2nd", "the second", None),
        ("on 5 May", "on 5 June", "figures"),
        ("on 5 May", "on the 5th", None),
        ("on Monday", "on Friday", "figures"),
        ("in the 1980s", "in 1980", "figures"),
        ("It rose", "It fell", "direction"),
        ("It rose", "It increased", None),
        ("It rose", "It changed", None),
        ("It rose and then fell", "It fell and then rose", "direction"),
        ("It rose and then fell", "It fell", None),
        ("won the first and won the last", "lost the first and won the last", "direction"),
        ("fell by more than a half", "fell by over a half", None),
        ("fell by more than a half", "rose by more than a half", "direction"),
        ("higher than before", "lower than before", "direction"),
        ("before the war", "after the war", "direction"),
        ("the capital is Paris", "the capital is Lyon", "names"),
        ("the capital is Paris", "the capital is Pariss", None),
        ("the capital is Paris", "the capital is paris", None),
        ("it was President Barack Obama", "it was Barack Obama", None),
        ("he lives there", "he lives in Lyon", None),
    ],
)
def test_a_difference_has_a_name(gold, answer, found):
    assert difference(gold, answer) == found


@given(st.text())
def test_no_text_differs_from_itself(text):
    assert difference(text, text) is None


@from_table
def test_denials_are_counted(text, count):
    assert denials(text) == count
