"""CoQA stories."""

from __future__ import annotations

from replay.core.conversation import Passage
from replay.datasets.quac_coqa import CoqaReader
from tests.datasets.files import contract, fault, json_file, only


def said(*texts):
    return [{"input_text": text, "turn_id": n} for n, text in enumerate(texts, 1) if text is not None]


def story(name, questions, answers, **more):
    return {
        "source": "gutenberg",
        "id": name,
        "filename": f"{name}.txt",
        "story": "Okafor sang.",
        "questions": said(*questions),
        "answers": [a | {"span_text": "sang", "span_start": 7, "span_end": 11} for a in said(*answers)],
        **more,
    }


FIRST = story(
    "s1",
    ["Who sang?", "Why?", "When?"],
    ["Okafor", "unknown", "Today"],
    additional_answers={"10": said("C"), "0": said("A", "Joy"), "1": said("B", "Unknown")},
) | {"name": "s1.txt"}
SECOND = story("s2", ["Who?"], ["Okafor"])


def data(*stories):
    return {"version": "1.0", "data": list(stories)}


TestCoqaReader = contract(
    CoqaReader(), "good.json", data(FIRST, SECOND), data(FIRST | {"story": ["Okafor"]}, SECOND)
)


def test_additional_answers_follow_the_recorded_one_in_their_order(tmp_path):
    found = only(CoqaReader(), json_file(tmp_path / "a.json", data(FIRST)))

    assert [turn.id for turn in found.turns] == ["s1#1", "s1#2", "s1#3"]
    assert found.turns[0].gold_answers == ("Okafor", "A", "B", "C")
    assert found.metadata == {"source": "gutenberg"}


def test_unknown_is_the_mark_of_an_unanswerable_question(tmp_path):
    found = only(CoqaReader(), json_file(tmp_path / "a.json", data(FIRST)))

    assert found.turns[1].gold_answers == ("CANNOTANSWER", "Joy", "CANNOTANSWER")
    assert found.passages == (Passage(id="s1", text="Okafor sang."),)
    assert [turn.gold_passages for turn in found.turns] == [("s1",), (), ("s1",)]


def test_a_question_without_a_recorded_answer_has_no_gold_answer(tmp_path):
    """An additional answer can't stand in the gold history: the next question wasn't asked after it."""
    one = story("s", ["Who?", "Why?"], ["Okafor", None], additional_answers={"0": said("A", "B")})

    found = only(CoqaReader(), json_file(tmp_path / "a.json", data(one)))

    assert [turn.gold_answers for turn in found.turns] == [("Okafor", "A"), ()]


def test_an_answer_to_no_question_is_an_error(tmp_path):
    path = json_file(tmp_path / "a.json", data(story("s", ["Who?"], ["Okafor", "Joy"])))

    assert "item 1, answers: has an answer to turn 2, which no question has" in fault(CoqaReader(), path)
