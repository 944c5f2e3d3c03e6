"""What the plays of one conversation are called."""

from __future__ import annotations

from hypothesis import given, strategies as st

from replay.core.conversation import Conversation, Turn
from replay.play.play import repeat_conversation, repetition_mark


def some(*ids: str) -> list[Conversation]:
    return [Conversation(id=name, turns=(Turn(id="1", question="Hello?"),)) for name in ids]


def test_a_conversation_played_again_differs_in_its_id_alone():
    (album,) = some("album")

    assert repeat_conversation(album, 1) is album
    again = repeat_conversation(album, 3)
    assert again.id == "album~3"
    assert again.turns is album.turns
    assert again.metadata is album.metadata


def test_an_id_of_the_data_that_looks_like_a_repetition_gets_a_longer_mark():
    assert repetition_mark(["a", "b~", "c~x", "~", "2"]) == "~"
    assert repetition_mark(["a", "a~2"]) == "~~"
    assert repetition_mark(["a", "a~~~10", "b~1"]) == "~~~~"
    assert repetition_mark([]) == "~"


@given(st.sets(st.text(alphabet="a~12٣\n", max_size=5), min_size=1))
def test_no_two_plays_ever_share_an_id(ids):
    conversations = some(*sorted(ids))
    mark = repetition_mark(ids)
    played = [
        repeat_conversation(conversation, repetition, mark).id
        for conversation in conversations
        for repetition in (1, 2, 3, 11, 12, 21, 111)
    ]
    assert len(set(played)) == len(played)
