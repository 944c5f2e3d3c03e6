"""Words of a text, and its sentences and their parts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from replay.coreference.reading.words import (
    comparable_words,
    content_words,
    cut_sentence,
    is_clause,
    normal_form,
    sentences,
    tokens,
    word_f1,
    words,
)
from tests.data_tables import from_table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Did she like it?", ["Did", "she", "like", "it", "?"]),
        ("Ann Lee's voice", ["Ann", "Lee", "'s", "voice"]),
        ("they’re", ["they", "’re"]),
        ("didn't O'Brien", ["didn't", "O'Brien"]),
        ("R&B in the U.S. in the 1980s", ["R&B", "in", "the", "U.S.", "in", "the", "1980s"]),
        ("1,000 copies, 3.5 stars", ["1,000", "copies", ",", "3.5", "stars"]),
        ("album.He", ["album", ".", "He"]),
        ("李安 film", ["李", "安", "film"]),
        ("हिन्दी", ["हिन्दी"]),
        ("a\x00b", ["a", "\x00", "b"]),
    ],
)
def test_tokens(text, expected):
    assert [token.text for token in tokens(text)] == expected


@given(st.text())
def test_tokens_cover_everything_but_spaces(text):
    found = tokens(text)

    assert all(text[t.start : t.end] == t.text and t.text for t in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    gaps = [
        text[a:b]
        for a, b in zip([0, *(t.end for t in found)], [*(t.start for t in found), None], strict=True)
    ]
    assert all(not any(c.isalnum() for c in gap) for gap in gaps)


@given(st.text(st.characters(max_codepoint=127)))
def test_what_is_found_in_ascii_is_found_beside_other_letters(text):
    assert tokens(f"{text} é")[:-1] == tokens(text)


@pytest.mark.parametrize(
    ("word", "normal"),
    [("Čilić", "cilic"), ("U.S.", "u.s"), ("1,000", "1000"), ("don’t", "don't"), (".", ".")],
)
def test_normal_form(word, normal):
    assert normal_form(word) == normal


def test_content_words_leave_out_case_articles_pronouns_and_punctuation():
    assert content_words("The dog, and HER voice.") == ("dog", "voice")
    assert words("The dog's voice") == ("the", "dog", "voice")


def test_a_name_of_function_words_alone_still_agrees_with_itself():
    """The band "The Who" and the film "It" have no content word."""
    for name in ("The Who", "It", "!!!"):
        assert word_f1(comparable_words(name), comparable_words(name)) == 1.0


@given(st.text(), st.text())
def test_word_f1_is_symmetric_and_in_the_unit_interval(first, second):
    a, b = comparable_words(first), comparable_words(second)

    assert word_f1(a, b) == word_f1(b, a)
    assert 0.0 <= word_f1(a, b) <= 1.0


@given(st.text().filter(str.strip))
def test_a_text_agrees_with_itself(text):
    assert word_f1(comparable_words(text), comparable_words(text)) == 1.0


def test_articles_are_no_agreement():
    assert word_f1(comparable_words("the dog"), comparable_words("the cat")) == 0.0


@from_table
def test_the_normal_form_of_odd_words(word, normal):
    assert normal_form(word) == normal


@from_table
def test_a_text_is_compared_by_the_best_that_it_has(text, compared):
    assert comparable_words(text) == compared


@pytest.mark.parametrize(
    ("first", "second", "f1"),
    [("a b", "b c", 0.5), ("a a b", "a c", 0.4), ("", "a", 0.0), ("a", "a", 1.0), ("a", "b", 0.0)],
)
def test_word_f1_by_hand(first, second, f1):
    assert word_f1(first.split(), second.split()) == f1


def test_a_token_is_a_word_by_its_first_character_and_capitalised_too():
    found = [(token.text, token.is_word, token.is_capitalized) for token in tokens("(Ann's É 1x '")]

    assert found == [
        ("(", False, False),
        ("Ann", True, True),
        ("'s", False, False),
        ("É", True, True),
        ("1x", True, False),
        ("'", False, False),
    ]


@from_table
def test_is_clause(text, clause):
    assert is_clause(text) == clause


def test_an_abbreviation_ends_no_sentence():
    assert sentences("Dr. No met J. R. Lee in Washington D.C. today. He left. ") == [
        "Dr. No met J. R. Lee in Washington D.C. today.",
        "He left.",
    ]


@from_table
def test_a_cut_sentence_ends_where_a_clause_does(text, kept):
    assert cut_sentence(text, 9) == kept


@given(st.text(max_size=200), st.integers(1, 20))
def test_never_longer_than_asked_for(text, most):
    assert len(cut_sentence(text, most).split()) <= most


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("Ann was king", True),
        ("Ann, was", False),  # two words
        ("he met Ann", True),
        ("we often sing", True),
        ("It Bites again", False),  # a name: its second word is capitalised
        ("Hedin supported the movement", True),
        ("Hedin supported movements", False),
        ("Thriller produced by him", False),
        ("songs recorded the year", False),  # no capital before
        ("Lee wrote songs", True),
        ("who wrote songs", False),
        ("the man who was king", False),
        ("songs wrote music", False),
        ("music that is old", False),
        ("Ann Lee Supported the band", False),
    ],
)
def test_a_clause_has_three_words_and_a_verb_after_its_subject(text, clause):
    assert is_clause(text) is clause


def test_no_text_has_no_sentence():
    assert sentences("") == sentences(" \n") == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("In May 1990, the old band split up, again", "In May 1990, the old band split up, again"),
        ("In May 1990, the old band split up, once again", "the old band split up, once again"),
        ("He left it; nobody in the whole town ever knew why", ""),  # three words are too few
        ("He then left it; nobody in the whole town ever knew why", "He then left it"),
        ("He said no, and she said yes, and they went home again", "He said no, and she said yes"),
        ('he said "no" and left', 'he said "no" and left'),
        ('he said "no and left', ""),
        ("the band (of Ann) left", "the band (of Ann) left"),
        ("the band (of Ann left", ""),
        ("the band left –", "the band left"),
        ("", ""),
    ],
)
def test_a_sentence_of_nine_words_is_short_enough(text, kept):
    assert cut_sentence(text, 9) == kept
