"""MT-Bench questions."""

from __future__ import annotations

import pytest

from replay.datasets.mtbench import MtBenchReader
from tests.datasets.files import contract, fault, json_lines_file, only

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
