"""Turns that are made up."""

from __future__ import annotations

import re

import pytest

from replay.core.history import Exchange
from replay.coreference.resolver import Document
from replay.coreference.training.annotated_questions import Example
from replay.coreference.training.made_up import made_up

NAMES = ("Quill Marlo", "Petra Holm", "Olu Brandvik", "Port Ellis", "Rome", "Oslo", "Lima")
PLACES = NAMES[3:]
SAID = (
    "It was a long time ago in Rome and again near Port Ellis that they all met Quill Marlo and his friend "
    "Petra Holm, who later went to Oslo with Olu Brandvik and then on to Lima. The old guard stayed where it "
    "was."
)
"""The first sentence is too long to stand between others, so an answer names what its list names."""
ORDERS = {"first": 0, "second": 1, "third": 2, "last": -1}


def example(answer=SAID):
    turns = (Exchange(question="?", answer=answer),)
    return Example(dialog="d", group="g", document=Document(question="?", turns=turns), rewrite="?")


TURNS = list(made_up([example()], 400))
ONE_OF_A_LIST, ALL_OF_A_LIST, AT_A_TIME, AT_A_PLACE = (TURNS[kind::4] for kind in range(4))


def answers(turn):
    return turn.example.document.turns[-1].answer, turn.own.turns[-1].answer


def named(text):
    """The names in *text*, with their articles, in order."""
    return re.findall(rf"(?:the )?(?:{'|'.join(NAMES)})", text)


def test_as_many_as_asked_for_and_the_same_for_the_same_seed():
    assert len(TURNS) == 400
    assert list(made_up([example()], 40)) == TURNS[:40]
    assert list(made_up([example()], 40, seed=1)) != TURNS[:40]


def test_each_is_a_question_after_one_of_two_answers():
    for turn in TURNS:
        gold, own = turn.example.document, turn.own
        assert (gold.question, gold.turns[0].question) == (own.question, own.turns[0].question)
        assert len(gold.turns) == len(own.turns) == 1
        assert "{" not in f"{gold}{own}{turn.example.rewrite}"
        assert turn.example.source == "made up"
        assert turn.example.rewrite != gold.question
    assert len({turn.example.group for turn in TURNS}) == len(TURNS)


@pytest.mark.parametrize("turns", [ONE_OF_A_LIST, ALL_OF_A_LIST, AT_A_TIME, AT_A_PLACE])
def test_neither_verdict_is_rare(turns):
    assert 0.2 < sum(turn.same for turn in turns) / len(turns) < 0.8


def test_one_of_a_list_is_the_same_where_the_same_stands_in_its_place():
    for turn in ONE_OF_A_LIST:
        gold, own = map(named, answers(turn))
        words = turn.example.document.question.lower().split("the ")[1]
        at = ORDERS[re.findall(r"\w+", words)[0]]
        assert gold[at] in turn.example.rewrite
        assert turn.same == (at < len(own) and own[at] == gold[at])


def test_a_list_as_a_whole_is_the_same_in_any_order():
    for turn in ALL_OF_A_LIST:
        gold, own = map(named, answers(turn))
        assert named(turn.example.rewrite) == gold
        assert turn.same == (set(gold) == set(own))


def test_then_means_the_moment_that_was_said():
    for turn in AT_A_TIME:
        gold, own = (
            re.sub(r"\b(?:The|That|It|Your|On) ?[a-z ]*|\.", "", one).strip() for one in answers(turn)
        )
        assert gold in turn.example.rewrite
        assert turn.same == (gold == own)


def test_there_means_the_place_that_was_said():
    for turn in AT_A_PLACE:
        gold, own = map(named, answers(turn))
        assert turn.example.rewrite == turn.example.document.question.replace("there", f"in {gold[0]}")
        assert set(gold + own) <= set(PLACES)
        assert turn.same == (gold == own)


@pytest.mark.parametrize(
    "said", ["", "They met Ann Lee in Rome. The old guard stayed where it was.", SAID.partition(". ")[0]]
)
def test_too_little_to_draw_from_makes_nothing(said):
    assert list(made_up([example(said)], 10)) == []
    assert list(made_up([], 10)) == []
