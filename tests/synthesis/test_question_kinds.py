"""Questions by their words."""

from __future__ import annotations

from replay.synthesis.question_kinds import is_elliptical, is_yes_no, question_word
from tests.data_tables import from_table


@from_table
def test_which_word_asks(question, word):
    assert question_word(question) == word


def test_yes_or_no_and_one_of_two_things():
    assert is_yes_no("Is it red?")
    assert not is_yes_no("Is it red or blue?")
    assert not is_yes_no("What is it?")


@from_table
def test_what_leaves_something_out(question):
    assert is_elliptical(question)


@from_table
def test_what_is_a_whole_question(question):
    assert not is_elliptical(question)
