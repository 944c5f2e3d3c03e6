"""Questions with a human rewrite, from any data set that has both."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from replay.coreference.reading.resolver import Document
from replay.coreference.training.annotated import (
    Example,
    is_for_decisions,
    is_held_out,
    read_examples,
    with_titles,
)

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
    held = {e.group for e in GROUPS if is_held_out(e)}

    assert 20 < len(held) < 90
    assert {e.group for e in GROUPS if is_held_out(replace(e, rewrite="Other?", dialog="x"))} == held


def test_of_an_unknown_source_one_group_in_four_is_held_out():
    assert 60 < sum(is_held_out(replace(e, source="new")) for e in GROUPS) < 140


def test_what_decides_and_what_measures_are_both_held_out_and_not_the_same():
    held = [e for e in GROUPS if is_held_out(e)]

    assert 0 < sum(is_for_decisions(e) for e in held) < len(held)
