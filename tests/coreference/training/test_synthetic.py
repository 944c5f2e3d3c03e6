"""Histories with other answers, and questions made to lean on theirs."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from replay.core.conversation import CANNOT_ANSWER
from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.words import content_words
from replay.coreference.training.annotated import Example
from replay.coreference.training.synthetic import BACK, WRONG, corrupt, undo_rewrite
from tests.coreference.reading.made_up import document

ANSWERS = (
    "Ann Lee sang.",
    "It was the pianist Bob Ray in Rome.",
    "The album Blue Moon, in the year 1990, by Tom.",
)


def example(
    question="Did he like it?",
    rewrite="Did Bob Ray like Blue Moon?",
    *,
    dialog="one",
    source="a",
    answers=ANSWERS,
):
    turns = tuple(Exchange(question=f"Who {n}?", answer=answer) for n, answer in enumerate(answers))
    return Example(
        dialog=dialog,
        group=dialog,
        document=Document(question=question, turns=turns),
        rewrite=rewrite,
        source=source,
    )


OTHERS = [
    example("Why?", "Why?", dialog="two", answers=("Eva Stone left Oslo.", "Max Reed stayed there.")),
    example("Why?", "Why?", dialog="three", source="b", answers=("Of another source.",)),
]


def of_the_first(**how):
    return [one for one in corrupt([example(), *OTHERS], **how) if one.example.dialog == "one"]


def changed(one):
    """The answers that are no longer the recorded ones, by their place from the end."""
    pairs = zip(one.example.document.turns, one.document.turns, strict=True)
    return {3 - at: own.answer for at, (gold, own) in enumerate(pairs) if gold.answer != own.answer}


def test_each_of_the_last_two_answers_is_replaced_in_each_wrong_way():
    found = of_the_first()

    assert [(one.turns_back, one.way) for one in found] == [(2, way) for way in WRONG] + [
        (1, way) for way in WRONG
    ]
    assert all(list(changed(one)) == [one.turns_back] for one in found)
    assert BACK == 2


def test_where_other_answers_come_from():
    for one in of_the_first():
        (answer,) = changed(one).values()
        if one.way == "same":
            assert answer in ANSWERS
        elif one.way == "cannot":
            assert answer == CANNOT_ANSWER
        else:
            assert answer in ("Eva Stone left Oslo.", "Max Reed stayed there.")  # of its own source


def test_what_people_added_and_no_history_says_any_more_is_lost():
    found = {(one.turns_back, one.way): one.lost for one in of_the_first()}

    assert found[2, "cannot"] == {"bob", "ray"}
    assert found[1, "foreign"] == {"blue", "moon"}


def test_what_is_still_said_elsewhere_or_was_in_the_question_is_not_lost():
    said = example(question="Did Bob like it?", answers=("Blue Moon.", "Bob Ray.", "Blue Moon and he."))
    found = {(one.turns_back, one.way): one.lost for one in corrupt([said, *OTHERS]) if one.example is said}

    assert found[1, "cannot"] == set()
    assert found[2, "cannot"] == {"ray"}


def test_harmless_ways_come_only_where_asked_for():
    assert {one.way for one in of_the_first()} == set(WRONG)
    ways = {one.way for seed in range(5) for one in of_the_first(seed=seed, harmless=True)}
    assert ways == {*WRONG, "harmless", "name", "both"}


@pytest.mark.parametrize("seed", range(20))
def test_a_harmless_answer_has_much_of_the_same_content(seed):
    for one in of_the_first(seed=seed, harmless=True):
        if one.way == "harmless":
            gold = example().document.turns[-one.turns_back].answer
            (answer,) = changed(one).values()
            kept = set(content_words(gold)) & set(content_words(answer))
            assert len(kept) >= 0.5 * len(set(content_words(gold)))


def test_another_name_takes_the_place_of_one():
    named = [one for seed in range(5) for one in of_the_first(seed=seed, harmless=True) if one.way == "name"]

    assert named
    for one in named:
        ((back, answer),) = changed(one).items()
        gold = ANSWERS[-back]
        assert answer != gold
        assert abs(len(answer.split()) - len(gold.split())) <= 2


def test_both_last_answers_can_change_at_once():
    (one,) = [one for one in of_the_first(harmless=True) if one.way == "both"]

    assert set(changed(one)) <= {1, 2}
    assert one.turns_back == 2


@pytest.mark.parametrize("gold", ["", "  ", CANNOT_ANSWER])
def test_an_answer_that_says_nothing_is_not_replaced(gold):
    silent = example(answers=("Bob Ray.", gold))

    assert {one.turns_back for one in corrupt([silent, *OTHERS]) if one.example is silent} == {2}


def test_an_answer_of_the_same_words_is_no_wrong_one():
    twice = example(answers=("Bob Ray came.", "And Bob Ray came!"))
    ways = [one.way for one in corrupt([twice, *OTHERS]) if one.example is twice]

    assert ways == ["cannot", "foreign"] * 2


def test_the_same_seed_gives_the_same_corruptions():
    assert of_the_first(seed=1, harmless=True) == of_the_first(seed=1, harmless=True)
    assert of_the_first(seed=1, harmless=True) != of_the_first(seed=2, harmless=True)


def test_a_question_without_a_history_has_none():
    first = replace(example(), document=Document(question="Who?"))

    assert [one for one in corrupt([first, *OTHERS]) if one.example is first] == []
    assert list(corrupt([])) == []


GHENT = document("?", "Where?", "Ann Lee lives in Ghent with the red dog.")


def every(standalone, asked=GHENT):
    """All questions that some seed makes of *standalone*."""
    made = [undo_rewrite(asked, standalone, random.Random(seed)) for seed in range(200)]
    return {one[0].question for one in made if one is not None}


def test_a_name_gives_way_to_a_pronoun():
    assert every("When did Ann Lee leave?") == {
        f"When did {word} leave?" for word in ("it", "that", "this one", "that one", "them", "he", "she")
    }


def test_an_owner_gives_way_to_a_possessive():
    assert every("When was Ann Lee's house built?") == {
        "When was its house built?",
        "When was their house built?",
    }


def test_an_adjunct_is_left_out_with_its_preposition_and_article_or_stays_with_a_pronoun():
    found = every("What can people do with the red dog?")

    assert "What can people do?" in found
    assert "What can people do with it?" in found
    assert all(re.fullmatch(r"What can people do(?: with [a-z ]+)?\?", question) for question in found)


@pytest.mark.parametrize("standalone", ["Is he well?", "When did Bob Ray leave?", "", "Ghent?"])
def test_a_question_that_names_nothing_that_was_said_or_is_too_short_is_none(standalone):
    assert every(standalone) == set()


@pytest.mark.parametrize("seed", range(20))
def test_the_standalone_form_and_the_name_are_kept_and_the_history_stays(seed):
    standalone = "Was Ann Lee born in Ghent?"
    made, kept, name = undo_rewrite(GHENT, standalone, random.Random(seed))

    assert kept == standalone
    assert name in ("Ann Lee", "Ghent")
    assert name not in made.question
    assert (made.turns, made.title) == (GHENT.turns, GHENT.title)


def test_only_the_last_three_exchanges_are_looked_at():
    long_ago = document("?", "Where?", "In Ghent.", *("Who?", "Nobody.") * 3)

    assert every("Who lives in Ghent?", long_ago) == set()


def test_the_same_seed_makes_the_same_question():
    first, again = (undo_rewrite(GHENT, "Was Ann Lee born in Ghent?", random.Random(3)) for _ in range(2))

    assert first == again
