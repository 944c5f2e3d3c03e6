"""MTRAG's tasks, by lines in their shape."""

from __future__ import annotations

import pytest

from replay.datasets.mtrag import MtragReader
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
