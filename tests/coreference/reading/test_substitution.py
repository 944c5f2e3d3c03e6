"""English around an antecedent that comes without a wording: article, possessive, capitals."""

from __future__ import annotations

import pytest

from replay.core.drift_evidence import Mention
from replay.coreference.reading.mentions import ellipsis_of, find_mentions
from replay.coreference.reading.substitution import (
    at_sentence_start,
    capitalized,
    in_place,
    is_plural_name,
    tidy,
    with_possessive,
)


def put(question, antecedent):
    """What stands in place of the question's last mention."""
    return in_place(question, find_mentions(question)[-1], antecedent)


@pytest.mark.parametrize(
    ("question", "antecedent", "expected"),
    [
        ("Did she sing?", "Ann Lee", "Ann Lee"),
        ("Did it sell?", "album", "the album"),
        ("Did it sell?", "an old album", "the old album"),
        ("Did they tour?", "The first band", "the first band"),
        ("Did it end?", "Her last tour", "her last tour"),
        ("Did it arrive?", "your order", "the order"),
        ("Is it open?", "Our shop", "the shop"),
        ("Was it in 1990?", "1987", "1987"),
        ("What did the they do?", "band", "band"),
    ],
)
def test_what_is_no_name_gets_the_article_that_it_needs(question, antecedent, expected):
    assert put(question, antecedent) == expected


@pytest.mark.parametrize(
    ("question", "antecedent", "expected"),
    [
        ("What was her voice like?", "Ann Lee", "Ann Lee's"),
        ("What was his name?", "Charles", "Charles's"),
        ("What was their name?", "the Beatles", "the Beatles'"),
        ("What is its capital?", "the United States", "the United States'"),
        ("What is its name?", "the Moss", "the Moss's"),
        ("What is their name?", "Ann's", "Ann's"),
    ],
)
def test_an_owner_gets_a_possessive(question, antecedent, expected):
    assert put(question, antecedent) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("He sang?", "The singer"),
        ("Good. he sang?", "The singer"),
        ("(he) sang?", "The singer"),
        ("Well, he left", "the singer"),
        ("Did he sing?", "the singer"),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ('  "Salt, Ledger";', "Salt, Ledger"),
        ("“Blue”,", "Blue"),
        ("two\n lines", "two lines"),
        ("Washington D.C.", "Washington D.C."),
        ("Ray Jr.", "Ray Jr."),
        ("the harbour.", "the harbour"),
        ("in 1990.", "in 1990"),
        ("?!", ""),
    ],
)
def test_tidy_text_is_one_line_without_the_punctuation_around_it(text, tidied):
    assert tidy(text) == tidied


@pytest.mark.parametrize(
    ("text", "plural", "owner"),
    [
        ("Ann", False, "Ann's"),
        ("James", False, "James's"),
        ("JAMES", True, "JAMES'"),
        ("children", True, "children's"),
        ("the boss’s", False, "the boss’s"),
        ("the Beatles'", True, "the Beatles'"),
    ],
)
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
