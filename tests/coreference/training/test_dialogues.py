"""Dialogues with known wrong answers, as they are read to learn from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.core.errors import DatasetError
from replay.core.history import Exchange
from replay.coreference.training.annotated import WINDOW, read_dialogues

ROOT = Path(__file__).parents[3]


def turn(question, *, gold="g", own="o", same=None, names=None, by=None, **more):
    return {
        "question": question, "gold_answer": gold, "own_answer": own, "means_the_same": same,
        "rewrite_names": names, "refers_by": by, **more,
    }  # fmt: skip


def written(folder, *dialogues, name="talks.json"):
    path = folder / name
    path.write_text(
        json.dumps([{"id": f"d{n}", "turns": turns} for n, turns in enumerate(dialogues)]), "utf-8"
    )
    return path


def test_questions_come_after_both_answers_as_far_as_the_window_reaches(tmp_path):
    talk = [turn(f"Who {n}?", gold=f"gold {n}", own=f"own {n}") for n in range(WINDOW + 3)]
    *_, last = read_dialogues([written(tmp_path, talk)])
    before = range(2, WINDOW + 2)

    assert last.gold.question == last.own.question == f"Who {WINDOW + 2}?"
    assert last.gold.turns == tuple(Exchange(question=f"Who {n}?", answer=f"gold {n}") for n in before)
    assert last.own.turns == tuple(Exchange(question=f"Who {n}?", answer=f"own {n}") for n in before)


def test_a_first_question_leans_on_nothing_and_is_left_out(tmp_path):
    found = read_dialogues([written(tmp_path, [turn("Who?"), turn("Why?")], [turn("When?")])])

    assert [one.gold.question for one in found] == ["Why?"]


def test_what_people_said_of_a_question_is_kept(tmp_path):
    marked = turn(
        "Did she?", same=False, names=["Ann Lee"], by="pronoun", standalone="Did Ann Lee?",
        leans_on=["Ann Lee"], leans_on_own=["Bob"],
    )  # fmt: skip
    marked_one, bare = read_dialogues([written(tmp_path, [turn("Who?"), marked, turn("Why?", same=True)])])

    assert (marked_one.same, marked_one.names, marked_one.refers_by) == (False, ("Ann Lee",), "pronoun")
    assert (marked_one.standalone, marked_one.leans_on, marked_one.leans_on_own) == (
        "Did Ann Lee?",
        ("Ann Lee",),
        ("Bob",),
    )
    assert (bare.same, bare.names, bare.refers_by) == (True, (), "")
    assert (bare.standalone, bare.leans_on, bare.leans_on_own) == (None, (), ())


def test_every_second_dialogue_of_a_file_is_held_out(tmp_path):
    talk = [turn("Who?"), turn("Why?")]
    files = [written(tmp_path, talk, talk, talk, name=name) for name in ("one.json", "two.json")]

    assert [(one.dialog, one.held_out) for one in read_dialogues(files)] == [
        ("d0", False),
        ("d1", True),
        ("d2", False),
    ] * 2


@pytest.mark.parametrize("text", ["", "{", "[{}]", '[{"id": 3, "turns": []}]'])
def test_another_format_is_said_with_its_place(tmp_path, text):
    path = tmp_path / "talks.json"
    path.write_text(text, "utf-8")

    with pytest.raises(DatasetError, match=r"talks\.json"):
        read_dialogues([path])


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(DatasetError, match=r"gone\.json"):
        read_dialogues([tmp_path / "gone.json"])


DIALOGUES = [
    *sorted((ROOT / "benchmarks" / "history-drift").glob("*.json")),
    *sorted((ROOT / "tests" / "coreference" / "dialogues").glob("*.json")),
]


@pytest.mark.parametrize("path", DIALOGUES, ids=[path.stem for path in DIALOGUES])
def test_what_our_dialogues_lean_on_stands_in_their_histories(path):
    """To the letter, or else nobody could point at it."""
    for one in read_dialogues([path]):
        for document, spans in ((one.gold, one.leans_on), (one.own, one.leans_on_own)):
            said = [text for exchange in document.turns for text in (exchange.question, exchange.answer)]
            assert [span for span in spans if not any(span in text for text in said)] == [], one.gold.question
