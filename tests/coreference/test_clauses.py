import pytest
from hypothesis import given, strategies as st

from replay.coreference.clauses import capped, is_clause, sentences


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("Hedin supported the movement", True),
        ("she was born in Port Ellis", True),
        ("Alice Okafor sang it", True),
        ("his films are fantasies", True),
        ("they left", False),
        ("the man who was king", False),
        ("a simple dehusking machine", False),
        ("Thriller, produced by Quincy Jones", False),
        ("in regard to the making of El Topo", False),
        ("The Old Man and the Sea", False),
        ("", False),
    ],
)
def test_is_clause(text, clause):
    assert is_clause(text) == clause


def test_an_abbreviation_ends_no_sentence():
    assert sentences("Dr. No met J. R. Lee in Washington D.C. today. He left. ") == [
        "Dr. No met J. R. Lee in Washington D.C. today.",
        "He left.",
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Yes, he left", "he left"),
        ("However, the band split up; nobody knew why it had to end", "the band split up"),
        (
            "He was the best of all that they had and she was the worst",
            "He was the best of all that they had",
        ),
        ("In May 1990, after a long and bitter quarrel, the band split up", "the band split up"),
        ("one two three four five six seven eight nine ten", ""),
        ('she said "it is so; it was so and it will be so for ever"', ""),
    ],
)
def test_a_cut_sentence_ends_where_a_clause_does(text, kept):
    assert capped(text, 9) == kept


@given(st.text(max_size=200), st.integers(1, 20))
def test_never_longer_than_asked_for(text, most):
    assert len(capped(text, most).split()) <= most
