"""Standalone questions made to lean on their history."""

from __future__ import annotations

import random
import re

import pytest

from replay.coreference.training.synthetic import undo_rewrite
from tests.coreference.reading.made_up import document

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
