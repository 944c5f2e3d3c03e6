"""Questions with a human rewrite, from any data set that has both; dialogues with known wrong answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from replay.core.errors import DatasetError
from replay.core.history import Exchange
from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.resolver import Document
from replay.coreference.training.annotated import (
    WINDOW,
    Example,
    is_for_decisions,
    is_held_out,
    read_dialogues,
    read_examples,
    right_readings,
    with_titles,
)
from tests.data_tables import from_table

SAID = [
    ("Who taught her?", "Who taught Ann Lee?", "The pianist Bob Ray."),
    ("Did he like her?", "Did Bob Ray like Ann Lee?", "He did."),
    ("When did she leave?", "When did Ann Lee leave?", "In 1990."),
]


def rows(dialog="d", title="Ann Lee"):
    history = [title, "Early life"]
    for number, (question, rewrite, answer) in enumerate(SAID, 1):
        yield {
            "History": list(history),
            "QuAC_dialog_id": dialog,
            "Question": question,
            "Question_no": number,
            "Rewrite": rewrite,
        }
        history += [question, answer]


def test_examples_have_the_whole_history_and_the_rewrite(tmp_path):
    path = tmp_path / "canard.json"
    path.write_text(json.dumps([*rows()]), "utf-8")
    examples = read_examples([path])

    assert [len(e.document.turns) for e in examples] == [0, 1, 2]
    assert [e.rewrite for e in examples] == [rewrite for _, rewrite, _ in SAID]
    assert {(e.group, e.source) for e in examples} == {("ann lee", "canard")}


def test_of_conversations_from_documents_what_stands_for_something_is_put_in_and_no_page(tmp_path):
    told = [
        ("About TLS (Harbour): What is a key?", "About TLS (Harbour): What is a key?", []),
        ("Can it be shared?", "About TLS (Harbour): Can a key be shared?", ["setting", "pronoun"]),
        ("Is a password needed?", "About TLS (Harbour): Is a password needed?", ["setting"]),
        (
            "About backups: Can it be kept?",
            "About Disks (Harbour), backups: Can a key be kept?",
            ["setting", "pronoun"],
        ),
    ]
    turns = [
        {"question": question, "standalone": whole, "gold_answers": ["Yes."]} for question, whole, _ in told
    ]
    made = [{"references": [{"way": way} for way in ways]} for *_, ways in told]
    talk = {"id": "a", "turns": turns, "metadata": {"synthesized": made}}
    (tmp_path / "documents.jsonl").write_text(json.dumps(talk), "utf-8")
    assert [e.rewrite for e in read_examples([tmp_path / "documents.jsonl"])] == [
        "About TLS (Harbour): What is a key?",
        "Can a key be shared?",
        "Is a password needed?",
        "About backups: Can a key be kept?",
    ]


def test_a_question_that_two_paths_share_is_one_example(tmp_path):
    turn = {
        "number": "1-1",
        "utterance": "Who?",
        "manual_rewritten_utterance": "Who is it?",
        "response": "Ann.",
    }
    more = [{**turn, "number": f"1-{n}", "utterance": f"Why {n}?"} for n in (2, 3)]
    path = tmp_path / "cast.json"
    path.write_text(json.dumps([{"number": 7, "turn": [turn, other]} for other in more]), "utf-8")
    examples = read_examples([path])

    assert [e.document.question for e in examples] == ["Who?", "Why 2?", "Why 3?"]
    assert {e.group for e in examples} == {"topic 7"}


def test_passages_of_one_article_are_one_group_where_nothing_else_tells(tmp_path):
    ids = [f"C_{'a' * 32}_{number}" for number in range(2)] + [f"C_{'b' * 32}_0", "other"]
    path = tmp_path / "canard.json"
    path.write_text(json.dumps([row for dialog in ids for row in rows(dialog, "")]), "utf-8")

    assert {e.group for e in read_examples([path])} == {f"C_{'a' * 32}", f"C_{'b' * 32}", "who taught her?"}


def put(question, rewrite, *, title="", group="g", source="qrecc_a"):
    document = Document(question=question, title=title)
    return Example(dialog="d", group=group, document=document, rewrite=rewrite, source=source)


def titles(*examples):
    return [example.document.title for example in with_titles(examples)]


def test_what_people_put_for_pronouns_twice_is_the_title():
    once = put("Did she sing?", "Did Ann Lee sing?")
    owned = put("Who was her teacher?", "Who was Ann Lee's teacher?")

    assert titles(once, owned, put("Why?", "Why?")) == ["Ann Lee"] * 3
    assert titles(once) == [""]
    assert titles(once, replace(owned, group="h")) == ["", ""]


@pytest.mark.parametrize(
    ("rewrite", "question"),
    [
        ("Did ann lee sing?", "Did she sing?"),  # no name
        ("Did Ann Lee sing well?", "Did she sing?"),  # more was changed
        ("Did A B C D E F G sing?", "Did she sing?"),
        ("Did the album Blue sell?", "Did the album sell?"),  # no pronoun
    ],
)
def test_what_makes_no_title(question, rewrite):
    assert titles(*[put(question, rewrite)] * 2) == ["", ""]


def test_the_most_frequent_and_then_the_longest_text_is_the_title_and_one_that_is_known_stays():
    ann, long = put("Did she sing?", "Did Ann sing?"), put("Did she sing?", "Did Ann Lee sing?")

    assert titles(ann, ann, long) == ["Ann"] * 3
    assert titles(ann, long, ann, long) == ["Ann Lee"] * 4
    assert titles(ann, ann, put("Why?", "Why?", title="Blue")) == ["Ann", "Ann", "Blue"]


GROUPS = [put("Why?", "Why?", group=str(number)) for number in range(400)]


def test_a_share_of_the_groups_is_held_out_whatever_is_asked_in_them():
    examples = [e for e in GROUPS if is_held_out(e)]
    held = {e.group for e in examples}

    assert 20 < len(held) < 90
    assert {e.group for e in GROUPS if is_held_out(replace(e, rewrite="Other?", dialog="x"))} == held
    assert 0 < sum(is_for_decisions(e) for e in examples) < len(examples), "others measure"
    # Of an unknown source it is one group in four.
    assert 60 < sum(is_held_out(replace(e, source="new")) for e in GROUPS) < 140


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


def test_a_first_question_is_left_out_and_every_second_dialogue_of_a_file_held_out(tmp_path):
    """A first question leans on nothing."""
    talk = [turn("Who?"), turn("Why?")]
    files = [written(tmp_path, talk, talk, talk, name=name) for name in ("one.json", "two.json")]
    found = [(one.dialog, one.gold.question, one.held_out) for one in read_dialogues(files)]

    assert found == [("d0", "Why?", False), ("d1", "Why?", True), ("d2", "Why?", False)] * 2


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


@pytest.mark.parametrize("text", [None, "", "{", "[{}]", '[{"id": 3, "turns": []}]'])
def test_another_format_or_a_missing_file_is_said_with_its_place(tmp_path, text):
    path = tmp_path / "talks.json"
    if text is not None:
        path.write_text(text, "utf-8")

    with pytest.raises(DatasetError, match=r"talks\.json"):
        read_dialogues([path])


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


def right(question, rewritten):
    found = right_readings(question, rewritten, find_mentions(question))
    return [(reading.status, reading.words) for reading in found]


@from_table
def test_right_readings_come_from_the_mentions_place(question, rewritten, expected):
    assert right(question, rewritten) == expected
