"""Dialogues with known wrong answers, as they are read to learn from."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import DatasetError
from replay.core.history import Exchange
from replay.coreference.mentions import ellipsis_of, find_mentions
from replay.coreference.training.annotated_questions import fold_of
from replay.coreference.training.dialogues import WINDOW, read_dialogues


def turn(question, *, gold="g", own="o", same=None, names=None, by=None):
    return {
        "question": question, "gold_answer": gold, "own_answer": own, "means_the_same": same,
        "rewrite_names": names, "refers_by": by,
    }  # fmt: skip


def written(folder, *dialogues, name="talks.json"):
    path = folder / name
    path.write_text(
        json.dumps([{"id": f"d{n}", "turns": turns} for n, turns in enumerate(dialogues)]), "utf-8"
    )
    return path


def judged(folder, question, *, by, names=("Ann Lee",), same=False):
    (only,) = read_dialogues([written(folder, [turn(question, same=same, names=list(names) or None, by=by)])])
    return only


def readings(folder, question, **how):
    mentions = [*find_mentions(question), ellipsis_of(question)]
    return [(r.status, r.words) for r in judged(folder, question, **how).readings(mentions)]


def test_judged_questions_come_after_both_answers(tmp_path):
    talk = [
        turn(f"Who {n}?", gold=f"gold {n}", own=f"own {n}", same=[None, None, None, True][n])
        for n in range(4)
    ]
    (only,) = read_dialogues([written(tmp_path, talk)])

    assert (only.gold.question, only.own.question) == ("Who 3?", "Who 3?")
    assert only.gold.turns == tuple(Exchange(question=f"Who {n}?", answer=f"gold {n}") for n in (1, 2))
    assert only.own.turns == tuple(Exchange(question=f"Who {n}?", answer=f"own {n}") for n in (1, 2))
    assert WINDOW == 2
    assert (only.same, only.names, only.refers_by) == (True, (), "")


def test_every_second_dialogue_of_a_file_is_held_out_and_a_fold_is_whole(tmp_path):
    talk = [turn("Who?", same=True), turn("Why?", same=False)]
    files = [written(tmp_path, talk, talk, talk, name=name) for name in ("one.json", "two.json")]
    found = read_dialogues(files)

    assert [(one.dialog, one.held_out) for one in found[::2]] == [
        ("d0", False),
        ("d1", True),
        ("d2", False),
    ] * 2
    assert all(one.fold == fold_of(one.dialog) for one in found)


@pytest.mark.parametrize(
    ("question", "by", "expected"),
    [
        ("Did she like it?", "pronoun", ["resolved", "undecided", "left"]),
        ("Was that good for her?", "demonstrative", ["resolved", "undecided", "left"]),
        ("Was that good for her?", "pronoun", ["undecided", "resolved", "left"]),
        ("Who was in the band with her?", "definite", ["resolved", "undecided", "left"]),
        ("How much is the second one?", "ordinal", ["resolved", "left"]),
        ("Is she there?", "there/then", ["undecided", "resolved", "left"]),
        ("What else did she do?", "ellipsis", ["undecided", "resolved"]),
        ("Did she?", "something else", ["undecided", "undecided"]),
        ("Why?", "pronoun", ["undecided"]),  # no such mention is found
    ],
)
def test_the_first_mention_of_the_kind_means_what_a_rewrite_names(tmp_path, question, by, expected):
    found = readings(tmp_path, question, by=by)

    assert [status for status, _ in found] == expected
    assert {words for status, words in found if status == "resolved"} <= {("ann", "lee")}


def test_of_several_wordings_every_word_is_right(tmp_path):
    found = readings(tmp_path, "Did she?", by="pronoun", names=("Ann Lee", "the singer Ann"))

    assert found[0] == ("resolved", ("ann", "lee", "singer"))


def test_a_question_that_refers_to_nothing_is_left_alone(tmp_path):
    assert readings(tmp_path, "Is it true of her?", by="nothing", names=(), same=True) == [("left", ())] * 2
    assert readings(tmp_path, "Did she?", by="pronoun", names=(), same=True) == [("undecided", ())] * 2


@pytest.mark.parametrize("text", ["", "{", "[{}]", '[{"id": 3, "turns": []}]'])
def test_another_format_is_said_with_its_place(tmp_path, text):
    path = tmp_path / "talks.json"
    path.write_text(text, "utf-8")

    with pytest.raises(DatasetError, match=r"talks\.json"):
        read_dialogues([path])


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(DatasetError, match=r"gone\.json"):
        read_dialogues([tmp_path / "gone.json"])
