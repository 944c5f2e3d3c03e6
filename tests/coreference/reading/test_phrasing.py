"""English around what is put into a question."""

from __future__ import annotations

import pytest

from replay.coreference.reading.phrasing import (
    contraction_for,
    instead_of_one,
    invert_clause,
    is_singular,
    singular_verb_before,
    time_preposition,
)
from tests.data_tables import from_table


@from_table
def test_a_time_has_its_preposition(text, expected):
    assert time_preposition(text) == expected


@pytest.mark.parametrize(
    "text", ["the hotel", "your team in Dublin", "Zelda Quist", "the glass", "Fuchsalm", "the office"]
)
def test_one_thing_is_singular(text):
    assert is_singular(text)


@from_table
def test_what_may_be_several_is_not(text):
    assert not is_singular(text)


def test_a_plural_verb_right_before_has_its_singular():
    assert singular_verb_before("Do they bite?", 3) == (0, "Does")
    assert singular_verb_before("and haven’t they left", 12) == (4, "hasn't")
    assert singular_verb_before("Can they bite?", 4) is None
    assert singular_verb_before("they bite", 0) is None


@from_table
def test_a_contraction_goes_on_behind_another_subject(mention, subject, expected):
    assert contraction_for(mention, subject) == expected


def test_a_clause_with_an_auxiliary_is_turned_into_a_question():
    assert invert_clause("the outdoor pool is closed") == "is the outdoor pool closed"
    assert invert_clause("the last ferry leaves at six") is None


@from_table
def test_who_asks_for_one_asks_for_any(question, mention, text, expected):
    assert instead_of_one(question, question.index(mention), mention, text) == expected
