"""What one utterance offers, found once and remembered."""

from __future__ import annotations

import numpy as np
import pytest

from replay.core.history import Exchange
from replay.coreference.embedded import pieces
from replay.coreference.embedded.candidates import gather
from replay.coreference.embedded.pieces import LOOKS, STANDS, piece
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document

LIST = "We have the Aero 13, the Vento 15 and the Pico S."
LONG = "Ann went home after a long tour of the north, and never came back."


def found(text, place="answer"):
    return {(one.text, one.kind) for one in piece(text, place).found}


def order(text, place="answer"):
    seen = piece(text, place)
    return {one.text: places for one, places in zip(seen.found, seen.order, strict=True)}


def test_an_utterance_is_looked_at_once_however_many_documents_hold_it(monkeypatch):
    looked = []
    enumerations = pieces.enumerations
    monkeypatch.setattr(
        pieces, "enumerations", lambda text, line: looked.append(text) or enumerations(text, line)
    )
    turns = [Exchange(question=f"Who was remembered {n}?", answer=f"Remembered {n} was.") for n in range(3)]
    for shown in (turns[:1], turns[:2], turns):
        look_at(Document(question="Who remembers?", turns=tuple(shown)))

    assert looked == [text for turn in turns for text in (turn.question, turn.answer)]


def test_the_same_words_offer_other_things_elsewhere():
    """A question has no clause, a title is one thing."""
    assert ("the Aero 13, the Vento 15 and the Pico S", "list") in found(LIST)
    assert found(LIST, "title") == {(LIST.rstrip("."), "title")}
    assert ("short words", "answer") in found("short words")
    assert ("short words", "answer") not in found("short words", "question")


@pytest.mark.parametrize(
    ("place", "listed"), [("answer", True), ("question", True), ("background", True), ("section", False)]
)
def test_where_lists_are_looked_for(place, listed):
    assert any(kind == "list" for _, kind in found("Aero, Vento and Pico", place)) is listed


@pytest.mark.parametrize(("words", "kind"), [(8, "answer"), (9, "clause"), (200, "clause")])
def test_a_whole_answer_is_an_antecedent_and_a_long_one_is_a_clause(words, kind):
    text = " ".join(f"w{number}" for number in range(words))

    assert (text, kind) in found(text)


def test_an_answer_of_a_thousand_characters_is_no_antecedent_as_a_whole():
    assert any(kind == "clause" for _, kind in found("w " * 100))
    assert not any(kind in ("clause", "answer") for _, kind in found("word w " * 200))


def test_an_older_answer_is_no_antecedent_as_a_whole():
    """What it names still is."""

    def clauses(after):
        turns = (
            Exchange(question="What then?", answer=LONG),
            *[Exchange(question="And?", answer="No.")] * after,
        )
        return [c for c in gather(Document(question="Why?", turns=turns)).candidates if c.kind == "clause"]

    assert [len(clauses(after)) for after in range(4)] == [1, 1, 0, 0]


def test_items_have_their_place_in_the_list():
    places = order(LIST)

    assert places["the Aero 13"] == (1,)
    assert places["the Vento"] == (2,)  # a part of one
    assert places["the Pico S"] == (3, -1)
    assert places["the Aero 13, the Vento 15 and the Pico S"] == ()
    assert order("Ann met Bob.") == {"Ann": (), "Bob": (), "Ann met Bob": ()}


def test_what_stands_in_two_lists_has_its_place_in_the_first():
    places = order("- tea and milk\n- coffee")

    assert places["coffee"] == (2, -1)
    assert places["tea"] == (1,)


def test_sentences_are_counted_and_hold_the_beginnings_of_their_words():
    seen = piece("Ann Lee went home. She sang!\nThe band played in Rome", "answer")

    assert {f.text: at for f, at in zip(seen.found, seen.sentence, strict=True) if f.kind == "name"} == {
        "Ann Lee": 0,
        "Rome": 2,
    }
    assert seen.stems == (
        frozenset({"ann", "lee", "went", "home"}), frozenset({"sang"}), frozenset({"band", "playe", "rome"})
    )  # fmt: skip
    assert {"in", "she", "played"} <= seen.says


def test_each_candidate_has_a_row_of_looks_and_one_of_how_it_stands():
    for text, place in ((LIST, "answer"), ("", "answer"), ("1990", "section"), (LONG, "background")):
        seen = piece(text, place)
        count = len(seen.found)
        assert (seen.looks.shape, seen.stands.shape) == ((count, LOOKS), (count, STANDS))
        assert len(seen.order) == len(seen.sentence) == count
        assert np.isfinite(seen.looks).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("He met Ann.", "Ann met him."),
        ("In Ann", "By Ann"),
        ("Ann's", "Ann ran"),
        ("to Ann", "the Ann"),
        ("Ann was ill", "Ann, ill"),
        ("band Ann", "album Ann"),
        ("his sister Ann", "his friendly Ann"),
        ("Ann, Bob and Sue", "Bob, Ann and Sue"),
        ("Bob, Ann and Sue", "Bob, Sue and Ann"),
        ("Bob and Ann", "Bob or so, Ann"),
    ],
)
def test_how_a_name_stands_is_told_by_the_words_around_it(one, other):
    def stands(text):
        seen = piece(text, "answer")
        at = [one.key for one in seen.found].index(("ann",))
        return seen.stands[at][1:]  # without the position

    assert not np.array_equal(stands(one), stands(other))


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ("1974-1977: Streetlife Serenade and Turnstiles", ["1974-1977", "Streetlife Serenade", "Turnstiles"]),
        ("The Old Man and the Sea", ["The Old Man and the Sea", "The Old Man", "the Sea"]),
        ("Early life and career", []),
        ("Early life in Rome", ["Early life in Rome"]),
    ],
)
def test_a_sections_title_names_years_and_things(section, named):
    assert [one.text for one in piece(section, "section").found] == named


def test_an_answer_that_says_nothing_is_known_as_one():
    assert piece("Ann Lee.", "answer").answers
    assert not piece("I don't know.", "answer").answers
