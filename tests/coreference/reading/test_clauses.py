import pytest
from hypothesis import given, strategies as st

from replay.coreference.reading.words import capped, is_clause, sentences
from tests.data_tables import from_table


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
    assert capped(text, 9) == kept


@given(st.text(max_size=200), st.integers(1, 20))
def test_never_longer_than_asked_for(text, most):
    assert len(capped(text, most).split()) <= most


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
    assert capped(text, 9) == kept
