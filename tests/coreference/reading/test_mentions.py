from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from replay.coreference.reading.mentions import ellipsis_of, find_mentions, is_possessive, kind_of
from tests.data_tables import from_table


@from_table
def test_finds(question, expected):
    assert [(m.text, m.kind) for m in find_mentions(question)] == expected


@from_table
def test_leaves_out_what_only_looks_like_a_mention(question):
    assert find_mentions(question) == ()


@from_table
def test_knows_possessives(question, possessive):
    pronoun = next(m for m in find_mentions(question) if m.kind in ("she", "they", "it"))

    assert pronoun.possessive is possessive


@from_table
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


@from_table
def test_each_word_around_a_mention_has_its_say(question, found):
    assert [(m.text, m.start, m.kind, m.possessive) for m in find_mentions(question)] == found


@from_table
def test_finds_one_of_several_places_times_and_what_was_introduced(question, text, kind):
    assert [(m.text, m.kind) for m in find_mentions(question)][:1] == [(text, kind)]


@from_table
def test_leaves_out_what_only_looks_like_one_of_several_a_place_or_a_time(question):
    assert find_mentions(question) == ()


@pytest.mark.parametrize(
    ("question", "at"),
    [("What else?", 9), ("What else", 9), ("More?!  ", 4), ('Did "it"?', 7), ("", 0), ("?", 1)],
)
def test_what_is_left_out_would_stand_before_the_final_punctuation(question, at):
    mention = ellipsis_of(question)

    assert (mention.start, mention.end, mention.text, mention.kind) == (at, at, "", "ellipsis")
