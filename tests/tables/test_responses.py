"""Responses recorded in files: FED, Topical-Chat in both forms, tables."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import DatasetError
from replay.scorers.judges.prompt import case_variables
from replay.tables.rating_files import read_items
from replay.tables.responses import read_responses
from tests.data_tables import from_table

TALK = " do you like jazz ? \n yes , a lot . \n me too \n\n"
FED = [
    {
        "context": "User: Hi!\nSystem: Hello.\nUser: Are you\nbored?",
        "response": "System: No.",
        "system": "Meena",
        "annotations": {"Overall": [3, 4]},
    },
    {
        "context": "System: Hi!\nUser: Hello.\nUser: Bye.",
        "system": "Mitsuku",
        "annotations": {"Overall": [1]},
    },
]
USR = [
    {
        "context": TALK,
        "fact": "jazz is old",
        "annotators": ["ann", "bob"],
        "responses": [
            {"response": "great !\n", "model": "A", "Overall": [5, 4], "Natural": [3, 3]},
            {"response": "why ?\n", "model": "B", "Overall": [1, 2], "Natural": [3, 2]},
        ],
    }
]
UNIEVAL = [
    {"source": TALK, "system_id": "A", "system_output": "great !", "context": "_nofact\n"},
    {"source": TALK, "system_id": "B", "system_output": "why ?", "context": "jazz is old\n"},
]
UNIEVAL = [{**one, "scores": {"overall": 4}} for one in UNIEVAL]


def write(path, content):
    path.write_text(json.dumps(content), "utf-8")
    return path


def shown(one):
    """What a judge is shown: the context, the response and the fact."""
    said = case_variables(one.case)
    return said["context"], said["response"], said["fact"]


def test_feds_responses_stand_after_what_was_said_and_dialogues_are_whole(tmp_path):
    turn, dialogue = read_responses(write(tmp_path / "fed.json", FED))

    assert (turn.id, turn.system, turn.level) == ("1", "Meena", "turn")
    assert shown(turn) == ("User: Hi!\nSystem: Hello.\nUser: Are you\nbored?", "No.", "")
    assert (dialogue.id, dialogue.system, dialogue.level) == ("2", "Mitsuku", "dialogue")
    assert case_variables(dialogue.case)["dialogue"] == "System: Hi!\nUser: Hello.\nBye."


@pytest.mark.parametrize(("content", "facts"), [(USR, ["jazz is old"] * 2), (UNIEVAL, ["", "jazz is old"])])
def test_topical_chats_speakers_take_turns_and_the_last_one_before_the_response_is_the_user(
    content, facts, tmp_path
):
    found = read_responses(write(tmp_path / "chat.json", content))
    context = "User: do you like jazz ?\nSystem: yes , a lot .\nUser: me too"

    assert [shown(one) for one in found] == [
        (context, "great !", facts[0]),
        (context, "why ?", facts[1]),
    ]
    assert [one.system for one in found] == ["A", "B"]


@pytest.mark.parametrize("content", [FED, USR, UNIEVAL])
def test_an_items_id_is_that_of_its_ratings(content, tmp_path):
    path = write(tmp_path / "file.json", content)

    rated = [(item.keys["id"], item.system, item.level) for item in read_items(path, "ratings").items]
    assert [(one.id, one.system, one.level) for one in read_responses(path)] == rated


def test_any_table_with_responses(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(
        "id,context,question,response,fact,gold,system\n"
        "a,User: Hi,,Hello.,,,x\n"
        'b,"System: Hi!\nUser: Hello.\nSystem: Ask me.",Who?,Alice.,Alice built it.,Alice,y\n',
        "utf-8",
    )
    one, other = read_responses(path)

    assert shown(one) == ("User: Hi", "Hello.", "")
    assert shown(other) == (
        "System: Hi!\nUser: Hello.\nSystem: Ask me.\nUser: Who?",
        "Alice.",
        "Alice built it.",
    )
    assert case_variables(other.case)["gold"] == "Alice"
    assert (one.system, other.system, other.id) == ("x", "y", "b")


def test_a_table_has_passages_and_whole_dialogues_too(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"id": "a", "question": "Who?", "response": "Alice.", "passages": ["Alice built it.", "A cat."]}\n'
        '{"id": "b", "context": "User: Hi.\\nSystem: Hello.\\nUser: Bye.\\nSystem: Bye."}\n'
        '{"id": "c", "question": "Who?", "response": "Al.", "passages": "Alice built it.\\n \\nA cat.\\n"}\n',
        "utf-8",
    )
    listed, dialogue, text = read_responses(path)

    assert [one.text for one in listed.case.record.passages] == ["Alice built it.", "A cat."]
    assert listed.case.record.passages == text.case.record.passages
    assert (dialogue.level, len(dialogue.case.records), dialogue.case.record.answer) == (
        "dialogue",
        2,
        "Bye.",
    )
    path.write_text('{"id": "a", "question": "Who?", "response": "Alice.", "passages": [1]}\n', "utf-8")
    with pytest.raises(DatasetError, match=r"passages: is no text and no list of texts"):
        read_responses(path)


@from_table
def test_a_file_without_responses_is_told_what_is_expected(text, complaint, tmp_path):
    path = tmp_path / "file.csv"
    path.write_text(text, "utf-8")

    with pytest.raises(DatasetError, match=complaint):
        read_responses(path)


def test_a_broken_item_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"responses\[0\].response.*is missing"):
        read_responses(write(tmp_path / "usr.json", [{**USR[0], "responses": [{"model": "A"}]}]))
    with pytest.raises(DatasetError, match=r"responses.*expected a list"):
        read_responses(write(tmp_path / "usr.json", [{**USR[0], "responses": "no"}]))
    with pytest.raises(DatasetError, match=r"context.*is empty"):
        read_responses(write(tmp_path / "fed.json", [{**FED[1], "context": ""}]))
