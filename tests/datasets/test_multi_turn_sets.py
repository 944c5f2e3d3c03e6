"""
MTRAG's tasks, by lines in their shape.

MT-Bench questions.
"""

from __future__ import annotations

import pytest

from replay.datasets.multi_turn_sets import MtBenchReader, MtragReader
from tests.datasets.files import contract, fault, ids, json_lines_file, only


def said(speaker, text):
    return {"speaker": speaker, "text": text, "metadata": {"author_type": "human"}}


def context(name, verdict=None):
    feedback = {} if verdict is None else {"relevant": {"a@b": {"value": verdict, "timestamp": 1}}}
    return {"document_id": name, "text": f"On {name}.", "title": "T", "score": 2.5, "feedback": feedback}


def task(number, *spoken, targets=("In 1987.",), **more):
    return {
        "conversation_id": "dd6b",
        "task_id": f"dd6b::{number}",
        "turn": number,
        "contexts": [context("p1", "yes"), context("p2", "no"), context("p3"), context("p1", "yes")],
        "input": list(spoken),
        "targets": [said("agent", text) for text in targets],
        "answerability": ["ANSWERABLE"],
        "Question Type": ["Factoid"],
        "Multi-Turn": float("nan"),  # as the published files have it
        **more,
    }


FIRST = task(1, said("user", "Who?"), targets=["Okafor."])
SECOND = task(2, said("user", "Who?"), said("agent", "Okafor."), said("user", "When?"))


TestMtragReader = contract(MtragReader(), "tasks.jsonl", [FIRST, SECOND], [FIRST | {"input": "Who?"}, SECOND])


def test_a_task_of_retrieval_has_no_passages(tmp_path):
    bare = {name: FIRST[name] for name in ("conversation_id", "task_id", "input")} | {"Collection": "clapnq"}
    path = json_lines_file(tmp_path / "t.jsonl", [bare])

    assert ids([path]) == ["dd6b::1"]
    assert only(MtragReader(), path).passages == ()


def test_the_last_question_is_the_task_and_the_turns_before_it_its_history(tmp_path):
    found = only(MtragReader(), json_lines_file(tmp_path / "t.jsonl", [SECOND]))

    assert [(turn.question, turn.gold_answers, turn.gold_passages) for turn in found.turns] == [
        ("Who?", ("Okafor.",), ()),
        ("When?", ("In 1987.",), ("p1",)),
    ]
    assert [passage.id for passage in found.passages] == ["p1", "p2", "p3"]
    assert found.metadata == {
        "conversation_id": "dd6b",
        "answerability": ["ANSWERABLE"],
        "question_type": ["Factoid"],
    }


def test_what_cannot_be_answered_has_quacs_mark_before_the_reference(tmp_path):
    line = FIRST | {"answerability": ["UNANSWERABLE"], "targets": [said("agent", "I don't know.")]}
    found = only(MtragReader(), json_lines_file(tmp_path / "t.jsonl", [line]))

    assert found.turns[0].gold_answers == ("CANNOTANSWER", "I don't know.")


@pytest.mark.parametrize(
    ("spoken", "message"),
    [
        ([said("bot", "Who?")], 'input[0].speaker: "bot" is not a speaker (allowed: user, agent)'),
        ([said("user", "Who?"), said("agent", "Me.")], "input: doesn't end with a question of the user"),
        ([], "input: doesn't end with a question of the user"),
    ],
)
def test_what_is_no_task_is_an_error(tmp_path, spoken, message):
    path = json_lines_file(tmp_path / "t.jsonl", [FIRST | {"input": spoken}])

    assert fault(MtragReader(), path) == f":1: {message}"


WRITING = {"question_id": 81, "category": "writing", "turns": ["Write a post.", "Rewrite it."]}
MATH = {"question_id": 111, "category": "math", "turns": ["1+1?", "Twice that?"], "reference": ["2", "4"]}


TestMtBenchReader = contract(
    MtBenchReader(), "question.jsonl", [WRITING, MATH], [WRITING | {"turns": "Write a post."}, MATH]
)


def test_turns_are_questions_and_references_their_answers(tmp_path):
    found = only(MtBenchReader(), json_lines_file(tmp_path / "q.jsonl", [MATH]))

    assert (found.id, found.metadata) == ("111", {"category": "math"})
    assert [(turn.id, turn.question, turn.gold_answers) for turn in found.turns] == [
        ("111#1", "1+1?", ("2",)),
        ("111#2", "Twice that?", ("4",)),
    ]


@pytest.mark.parametrize("reference", [None, [], ["", None], ["  "]])
def test_a_turn_without_a_reference_is_asked_but_unscored(tmp_path, reference):
    found = only(MtBenchReader(), json_lines_file(tmp_path / "q.jsonl", [WRITING | {"reference": reference}]))

    assert [turn.gold_answers for turn in found.turns] == [(), ()]


def test_a_line_without_its_id_whose_names_are_no_utf_8_is_an_error(tmp_path):
    """The names that it has are told, where they can be read."""
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'{"category": "w", "turns": ["Who?"], "\x80": 1}\n')

    assert fault(MtBenchReader(), path) == ":1: question_id: is required but missing"


def test_more_references_than_turns_are_an_error(tmp_path):
    path = json_lines_file(tmp_path / "q.jsonl", [MATH | {"reference": ["2", "4", "8"]}])

    assert fault(MtBenchReader(), path) == ":1: reference: has 3 answers to 2 turns"
