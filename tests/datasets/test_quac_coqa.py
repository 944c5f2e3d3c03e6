"""
QuAC's own format, and CANARD's rewrites joined to it.

CoQA stories.
"""

from __future__ import annotations

import pytest

from replay.core.conversation import Passage
from replay.core.errors import DatasetError
from replay.datasets.quac_coqa import CoqaReader, QuacReader
from tests.datasets.files import contract, fault, json_file, only


def question(number, text, recorded, *others, dialog="D_1"):
    return {
        "id": f"{dialog}_q#{number}",
        "question": text,
        "orig_answer": {"text": recorded, "answer_start": 0},
        "answers": [{"text": t, "answer_start": 0} for t in others],
        "yesno": "x",
        "followup": "n",
    }


def article(*questions, dialog="D_1", **more):
    context = "Okafor wrote Stone Garden in 1987. CANNOTANSWER"
    return {"title": "Okafor", "paragraphs": [{"id": dialog, "context": context, "qas": questions}], **more}


FIRST = article(
    question(0, "Who wrote it?", "Okafor", "Okafor wrote", "Okafor", "Okafor"),
    question(1, "Why?", "CANNOTANSWER", "in 1987", "CANNOTANSWER"),
    section_title="Work",
    background="A singer.",
)
SECOND = article(question(0, "When?", "in 1987", dialog="D_2"), dialog="D_2")


TestQuacReader = contract(
    QuacReader(), "good.json", {"data": [FIRST, SECOND]}, {"data": [FIRST | {"title": None}, SECOND]}
)


def test_the_recorded_answer_comes_first_and_other_annotators_keep_their_repeats(tmp_path):
    found = only(QuacReader(), json_file(tmp_path / "a.json", {"data": [FIRST]}))

    assert found.turns[0].gold_answers == ("Okafor", "Okafor wrote", "Okafor")
    assert found.turns[1].gold_answers == ("CANNOTANSWER", "in 1987")


def test_the_context_is_the_passage_without_the_mark_at_its_end(tmp_path):
    found = only(QuacReader(), json_file(tmp_path / "a.json", {"data": [FIRST]}))

    assert found.passages == (Passage(id="D_1", text="Okafor wrote Stone Garden in 1987."),)
    assert [turn.gold_passages for turn in found.turns] == [("D_1",), ()]
    assert (found.title, found.section, found.background) == ("Okafor", "Work", "A singer.")


def test_section_and_background_may_be_absent(tmp_path):
    found = only(QuacReader(), json_file(tmp_path / "a.json", {"data": [SECOND]}))

    assert (found.section, found.background) == ("", "")


def test_canard_rewrites_are_joined_by_dialog_and_question_number(tmp_path):
    rows = [
        {
            "History": ["Okafor", "Work", "Who wrote it?", "Okafor"],
            "QuAC_dialog_id": "D_1",
            "Question": "Why?",
            "Question_no": 2,
            "Rewrite": "Why did Okafor write it?",
        }
    ]
    reader = QuacReader(standalone=json_file(tmp_path / "canard.json", rows))

    found = only(reader, json_file(tmp_path / "a.json", {"data": [FIRST]}))

    assert [turn.standalone for turn in found.turns] == [None, "Why did Okafor write it?"]


def test_a_missing_canard_file_is_named(tmp_path):
    reader = QuacReader(standalone=tmp_path / "canrd.json")
    json_file(tmp_path / "canard.json", [])

    with pytest.raises(
        DatasetError, match=r'canrd.json: there is no such file; did you mean "canard.json"\?'
    ):
        list(reader.read(json_file(tmp_path / "a.json", {"data": [FIRST]})))


def test_a_bad_item_is_named_by_line_item_and_field(tmp_path):
    bad = article(question(0, 5, "A"))
    path = json_file(tmp_path / "a.json", {"data": [bad]})

    assert fault(QuacReader(), path) == (
        ":3: item 1, paragraphs[0].qas[0].question: found a whole number, expected text"
    )


def test_squad_is_not_taken_for_quac(tmp_path):
    """SQuAD 2.0 has the same skeleton, but its questions are no conversation."""
    qas = [{"id": "1", "question": "Q", "answers": [], "is_impossible": True}]
    squad = {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "C", "qas": qas}]}]}
    path = json_file(tmp_path / "squad.json", squad)

    assert not QuacReader().recognizes(path, path.read_bytes())


def test_the_published_sample_is_read(shared_data):
    """The sample file holds one dialog, twice."""
    first, second = QuacReader().read(shared_data / "quac" / "quac_sample.json")

    assert first == second
    assert len(first.turns) == 6
    assert first.turns[1].id == "C_ec865aa8cf664d4d879ed364dd7048ed_1_q#1"
    assert [len(turn.gold_answers) for turn in first.turns] == [1, 5, 4, 4, 3, 5]
    assert first.passages[0].text.endswith("signaling the birth of hip hop.")


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


FIRST_STORY = story(
    "s1",
    ["Who sang?", "Why?", "When?"],
    ["Okafor", "unknown", "Today"],
    additional_answers={"10": said("C"), "0": said("A", "Joy"), "1": said("B", "Unknown")},
) | {"name": "s1.txt"}
SECOND_STORY = story("s2", ["Who?"], ["Okafor"])


def data(*stories):
    return {"version": "1.0", "data": list(stories)}


TestCoqaReader = contract(
    CoqaReader(),
    "good.json",
    data(FIRST_STORY, SECOND_STORY),
    data(FIRST_STORY | {"story": ["Okafor"]}, SECOND_STORY),
)


def test_additional_answers_follow_the_recorded_one_in_their_order(tmp_path):
    found = only(CoqaReader(), json_file(tmp_path / "a.json", data(FIRST_STORY)))

    assert [turn.id for turn in found.turns] == ["s1#1", "s1#2", "s1#3"]
    assert found.turns[0].gold_answers == ("Okafor", "A", "B", "C")
    assert found.metadata == {"source": "gutenberg"}


def test_unknown_is_the_mark_of_an_unanswerable_question(tmp_path):
    found = only(CoqaReader(), json_file(tmp_path / "a.json", data(FIRST_STORY)))

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
