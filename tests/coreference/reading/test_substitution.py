"""English around an antecedent that comes without a wording: article, possessive, capitals."""

from __future__ import annotations

import pytest

from replay.core.drift_evidence import Mention
from replay.coreference.reading.mentions import ellipsis_of, find_mentions
from replay.coreference.reading.rewriting import (
    at_sentence_start,
    capitalized,
    in_place,
    is_plural_name,
    tidy,
    with_possessive,
)
from tests.data_tables import from_table


def put(question, antecedent):
    """What stands in place of the question's last mention."""
    return in_place(question, find_mentions(question)[-1], antecedent)


@from_table
def test_what_is_no_name_gets_the_article_that_it_needs(question, antecedent, expected):
    assert put(question, antecedent) == expected


@from_table
def test_an_owner_gets_a_possessive(question, antecedent, expected):
    assert put(question, antecedent) == expected


@from_table
def test_a_sentence_keeps_its_capital(question, expected):
    assert put(question, "the singer") == expected


def test_nothing_stands_for_a_reflexive_or_for_what_was_left_out():
    question = "What else did he do?"

    assert put("Did Ann hurt herself?", "Ann Lee") is None
    assert in_place(question, ellipsis_of(question), "Ann Lee") is None


@pytest.mark.parametrize(
    ("antecedent", "expected"), [("Frank Zappa", "Frank Zappa"), ("the guitarist", None), ("Zappa", None)]
)
def test_a_name_gives_way_to_its_fuller_form_only(antecedent, expected):
    zappa = Mention(start=9, end=14, text="Zappa", kind="other")

    assert in_place("What did Zappa play?", zappa, antecedent) == expected


@from_table
def test_tidy_text_is_one_line_without_the_punctuation_around_it(text, tidied):
    assert tidy(text) == tidied


@from_table
def test_a_possessive_is_written_once(text, plural, owner):
    assert with_possessive(text, plural=plural) == owner


def test_a_name_is_plural_with_an_article_and_an_s():
    assert [is_plural_name(text) for text in ("the Beatles", "Charles", "the boss", "The Who")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_sentence_starts_at_the_text_and_behind_a_stop():
    text = 'He left. "she did?" and Dr.No'

    assert [n for n in range(len(text)) if at_sentence_start(text, n)] == [0, 9, 10, 20]


def test_only_the_first_letter_becomes_a_capital():
    assert [capitalized(text) for text in ("the BBC", "", "élan")] == ["The BBC", "", "Élan"]
