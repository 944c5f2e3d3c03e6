from __future__ import annotations

import pytest

from replay.datasets.coqa import CoqaReader
from replay.scorers.leave_one_out import coqa_em, coqa_f1
from tests.datasets.files import json_file, only
from tests.scorers.turns import score_of, turn

FOUR = ["white", "White.", "a white one", "pure white"]


@pytest.mark.parametrize(
    ("answer", "references", "em", "f1"),
    [
        ("the white", FOUR, 1, 1),  # another of the two stays when one is left out
        ("white one", FOUR, 3 / 4, (1 + 1 + 2 / 3 + 1) / 4),
        ("pure white", ["pure white", "white"], 1 / 2, (2 / 3 + 1) / 2),
        ("white", ["white"], 1, 1),  # nothing to leave out
        ("unknown", ["CANNOTANSWER", "CANNOTANSWER", "no"], 1, 1),
        ("CANNOTANSWER", ["CANNOTANSWER", "no", "no", "no"], 3 / 4, 3 / 4),
        ("no", ["CANNOTANSWER", "CANNOTANSWER", "no", "CANNOTANSWER"], 3 / 4, 3 / 4),
        ("I don't know.", ["CANNOTANSWER"], 0, 0),
        ("The", ["a", "no"], 1 / 2, 1 / 2),  # texts without words are equal
    ],
)
def test_by_hand(answer, references, em, f1):
    assert score_of(coqa_em(), answer, references) == pytest.approx(em)
    assert score_of(coqa_f1(), answer, references) == pytest.approx(f1)


def test_other_words_can_be_told_to_decline():
    free = {"declining": ("I don['’]t know\\.?",)}

    assert score_of(coqa_em(**free), "I don't know.", ["CANNOTANSWER"]) == 1
    assert score_of(coqa_f1(**free), "unknown", ["CANNOTANSWER"]) == 1


def test_a_file_of_coqas_is_read_and_scored_as_its_script_scores_it(tmp_path):
    """The reader says CANNOTANSWER for unknown; three of four people saying so leave the fourth's answer."""
    answers = ["unknown", "Unknown", "unknown", "at home"]
    said = [[{"input_text": text, "turn_id": 1}] for text in answers]
    story = {
        "id": "s",
        "source": "mctest",
        "story": "Cotton lived in a barn.",
        "questions": [{"input_text": "Where did she live?", "turn_id": 1}],
        "answers": said[0],
        "additional_answers": {str(n): one for n, one in enumerate(said[1:])},
    }
    path = json_file(tmp_path / "coqa.json", {"version": "1.0", "data": [story]})
    conversation = only(CoqaReader(), path)
    record = turn("at home", *conversation.turns[0].gold_answers)

    assert coqa_em().observe([record]) == [3 / 4]
    assert coqa_f1().observe([record]) == [3 / 4]
