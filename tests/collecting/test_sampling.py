"""What is worth keeping of many conversations."""

from __future__ import annotations

import random

import pytest

from replay.collecting.sampling import (
    CandidateConversation,
    complaint,
    depth_band,
    leaning_depths,
    read_leaning,
    split_duplicates,
    take,
)
from replay.core.conversation import Conversation, Turn
from replay.coreference.reading.embedded import EmbeddedResolver


def talk(*texts: str, id: str = "a", **metadata: object) -> Conversation:
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    turns = tuple(Turn(id=f"{id}{n}", question=q, gold_answers=(a,)) for n, (q, a) in enumerate(pairs))
    return Conversation(id=id, turns=turns, metadata=metadata)


def candidates(*depths: int) -> list[CandidateConversation]:
    return [
        CandidateConversation(number=n, conversation=talk(*("What?", "That.") * depth, id=f"t{n}"))
        for n, depth in enumerate(depths)
    ]


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"feedback": "thumbs_down"}, "feedback in the log"),
        ({"scores": [{"name": "user-feedback", "value": 0}]}, "user-feedback in the log"),
        ({"scores": [{"name": "groundedness", "value": 0}]}, "score groundedness in the log"),
        ({"evaluation": {"passed": False}}, "passed in the log"),
        ({"rating": 1}, "rating in the log"),
        ({"reward": 0.0}, "reward in the log"),
        ({"escalated": True}, "escalated in the log"),
        ({"feedback": "thumbs_up", "rating": 5, "score": 0.9, "escalated": False, "user": "no"}, None),
    ],
)
def test_a_verdict_in_the_log_counts(metadata, why):
    assert complaint(talk("Hi?", "Hi.", **metadata)) == why


def test_a_user_who_objects_counts_but_not_with_the_first_words():
    assert complaint(talk("Hi?", "Hi.", "That’s not what I asked.", "Oh.")) == "the user objects at turn 2"
    assert complaint(talk("That’s not what I asked.", "Oh.")) is None


def test_depths_go_by_bands():
    assert [depth_band(depth) for depth in (1, 2, 3, 6, 12, 40)] == [
        "1 turn", "2 to 3 turns", "2 to 3 turns", "4 to 6 turns", "7 to 12 turns", "13 turns or more",
    ]  # fmt: skip


def test_questions_that_lean_on_an_answer_are_told_from_those_that_stand_alone():
    found = leaning_depths(
        talk(
            "Who wrote Stone Garden?", "Mira Okafor wrote Stone Garden.",
            "When was she born?", "She was born in 1961.",
            "What is the capital of France?", "Paris is the capital of France.",
        ),
        EmbeddedResolver(),
    )  # fmt: skip
    assert found == (2,)


def test_of_conversations_that_are_alike_one_stays():
    """Whatever their numbers are; the one with a complaint, else the first."""
    said = [
        "My order {} has not come and I need it by Friday, can you look where it is?",
        "It left our store on Monday and should be with you by Thursday evening at the latest.",
    ]
    alike = [
        CandidateConversation(
            number=n, conversation=talk(*(one.format(n) for one in said), id=f"t{n}"), complaint=why
        )
        for n, why in enumerate([None, "rating in the log", None])
    ]
    other = CandidateConversation(number=3, conversation=talk("Do you sell lamps?", "We do.", id="t3"))
    differing, repeated = split_duplicates([*alike, other])
    assert [one.number for one in differing] == [1, 3]
    assert [(one.number, kept.number) for one, kept in repeated] == [(0, 1), (2, 1)]


def test_reasons_take_turns():
    many = candidates(*[2] * 20, 14)
    unhappy = [
        CandidateConversation(number=30 + n, conversation=many[0].conversation, complaint="bad")
        for n in range(9)
    ]
    leaning = [
        CandidateConversation(number=40 + n, conversation=many[0].conversation, leaning=(2,) * n)
        for n in range(1, 9)
    ]
    taken = take([*many, *unhappy, *leaning], 6, random.Random(0))
    assert sorted(one.why for one in taken if "lean" not in one.why) == [
        "bad", "bad", "its depth: 13 turns or more", "its depth: 2 to 3 turns",
    ]  # fmt: skip
    assert {one.candidate.number for one in taken} >= {20, 47, 48}


def test_the_same_seed_takes_the_same_and_no_more_than_there_are():
    many = candidates(*range(1, 15))
    numbers = [[one.candidate.number for one in take(many, 5, random.Random(seed))] for seed in (1, 1, 2)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert len(take(many, 99, random.Random(0))) == 14


def test_only_so_many_are_read_those_with_a_complaint_first():
    many = [
        *candidates(1, 2, 3, 4),
        CandidateConversation(number=9, conversation=talk(*("a", "b") * 3), complaint="bad"),
    ]
    read = read_leaning(many, 2, random.Random(0), lambda one: (2,))
    assert sum(one.leaning is not None for one in read) == 2
    assert read[-1].leaning == (2,)
    assert read[0].leaning is None, "a single question leans on nothing"
