from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from replay.coreference.mentions import find_mentions, is_possessive, kind_of


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Did she like it?", [("she", "she"), ("it", "it")]),
        ("What was HIS name?", [("HIS", "he")]),
        ("When did this happen?", [("this", "this")]),
        ("What happened after that?", [("that", "this")]),
        ("Was this successful?", [("this", "this")]),
        ("How did that album do?", [("that album", "this-noun")]),
        ("Did he release anything in this time period?", [("he", "he"), ("this time period", "this-noun")]),
        ("Who was in the band?", [("the band", "the-noun")]),
        ("What was the band's name?", [("the band", "the-noun")]),
        ("What is it like?", [("it", "it")]),
        ("They’re good?", [("They", "they")]),
    ],
)
def test_finds(question, expected):
    assert [(m.text, m.kind) for m in find_mentions(question)] == expected


@pytest.mark.parametrize(
    "question",
    [
        "Is it true that Ann sang?",
        "Was it hard to leave?",
        "Does it rain in May?",
        "How long did it take to record the song Hello?",
        "What is interesting about this article?",
        "Which songs that people like are old?",
        "Did Ann say that Bob left?",
        "Who played the album Thriller?",
        "What was the role of Bob?",
        "Which of those who stayed won?",
        "",
    ],
)
def test_leaves_out_what_only_looks_like_a_mention(question):
    assert find_mentions(question) == ()


@pytest.mark.parametrize(
    ("question", "possessive"),
    [
        ("What was her voice like?", True),
        ("Who saw her?", False),
        ("Who saw her again?", False),
        ("Who helped her financially?", False),
        ("Who is her family?", True),
        ("Was that idea her own?", True),
        ('What was her "Blue" album?', True),
        ("What is its name?", True),
        ("Was the song theirs?", True),
        ("Did they go?", False),
    ],
)
def test_knows_possessives(question, possessive):
    pronoun = next(m for m in find_mentions(question) if m.kind in ("she", "they", "it"))

    assert pronoun.possessive is possessive


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Her", "she"),
        ("these", "this"),
        ("that album", "this-noun"),
        ("the band", "the-noun"),
        ("the red band", "other"),
        ("Ann Lee", "other"),
        ("?", "other"),
    ],
)
def test_kind_of(text, kind):
    assert kind_of(text) == kind


def test_is_possessive_looks_at_what_follows():
    assert is_possessive("her", " voice?")
    assert not is_possessive("her", "?")


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["it", "is", "her", "this", "that", "the", "band", "he", "they", "?", "'s", "album", "of"]
        )
    ).map(" ".join)
)
def test_mentions_are_ordered_disjoint_and_say_what_stands_there(question):
    mentions = find_mentions(question)

    assert all(question[m.start : m.end] == m.text and m.text for m in mentions)
    assert all(a.end <= b.start for a, b in pairwise(mentions))
