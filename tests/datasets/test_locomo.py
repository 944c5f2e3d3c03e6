"""LoCoMo's dialogues, by files in their shape."""

from __future__ import annotations

import pytest

from replay.core.conversation import CANNOT_ANSWER
from replay.datasets.long_memory import LocomoReader
from tests.datasets.files import contract, fault, json_file


def line(place, speaker, text, **more):
    return {"speaker": speaker, "dia_id": place, "text": text, **more}


SAMPLE = {
    "qa": [
        {"question": "Where does Ann live?", "answer": "Bonn", "evidence": ["D1:2"], "category": 4},
        {
            "question": "When did Ben move?",
            "answer": 2022,
            "evidence": ["D2:02; D:1:1", "D9:9"],
            "category": 2,
        },
        {"question": "Would Ann fly?", "answer": "No; she fears it", "evidence": [], "category": 3},
        {"question": "Who is Cleo?", "evidence": ["D2:1"], "category": 5, "adversarial_answer": "A dog"},
    ],
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_10": [line("D10:1", "Ann", "Bye."), line("D10:2", "Ben", "Bye, Ann.")],
        "session_2_date_time": "8:10 am on 2 June, 2023",
        "session_2": [
            line("D2:1", "Ben", "Look!", blip_caption="a photo of a dog", img_url=["http://a"]),
            line("D2:2", "Ben", "I moved last year."),
            line("D2:3", "Ann", "Sweet."),
            line("D2:4", "Ben", "Bye."),
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [line("D1:1", "Ann", "Hi."), line("D1:2", "Ben", "So you live in Bonn?")],
        "session_3_date_time": "noon",
    },
    "event_summary": {},
    "sample_id": "conv-1",
}
OTHER = SAMPLE | {"sample_id": "conv-2"}


NO_CATEGORY = SAMPLE | {"qa": [SAMPLE["qa"][0] | {"category": 9}, *SAMPLE["qa"][1:]]}
TestLocomoReader = contract(LocomoReader(), "locomo10.json", [SAMPLE, OTHER], [NO_CATEGORY, OTHER])


@pytest.fixture
def talks(tmp_path):
    return list(LocomoReader().read(json_file(tmp_path / "locomo10.json", [SAMPLE])))


def test_each_question_follows_the_whole_dialogue_and_no_other_question(talks):
    assert [talk.id for talk in talks] == ["conv-1/q1", "conv-1/q2", "conv-1/q3", "conv-1/q4"]
    for talk in talks:
        assert [(turn.id, turn.session, turn.question, turn.gold_answer) for turn in talk.turns[:-1]] == [
            ("D1:1", "session_1", "Ann: Hi.", "Ben: So you live in Bonn?"),
            (
                "D2:1",
                "session_2",
                "Ben: Look! [shares a photo of a dog]\nBen: I moved last year.",
                "Ann: Sweet.",
            ),
            ("D2:4", "session_2", "Ben: Bye.", ""),
            ("D10:1", "session_10", "Ann: Bye.", "Ben: Bye, Ann."),
        ]
        assert talk.turns[-1].session == talk.id
    assert talks[0].metadata["timestamps"] == ["2023-05-08T13:56:00", "2023-06-02T08:10:00", None, None, None]
    assert [message.text for message in talks[0].turns[1].asked_with] == ["Date: 8:10 am on 2 June, 2023"]


def test_questions_have_their_kind_answers_and_evidence(talks):
    asked = [talk.turns[-1] for talk in talks]

    assert [turn.kind for turn in asked] == ["single-hop", "temporal", "open-domain", "abstention"]
    assert [turn.gold_answers for turn in asked] == [
        ("Bonn",),
        ("2022",),
        ("No", "No; she fears it"),
        (CANNOT_ANSWER,),
    ]
    assert [turn.evidence for turn in asked] == [("D1:1",), ("D2:1", "D1:1"), (), ()]
    assert [talk.distance_back(5) for talk in talks] == [(3, 4), (3, 4), (None, None), (None, None)]
    assert talks[3].metadata["adversarial_answer"] == "A dog"


def test_what_is_wrong_is_named(tmp_path):
    one = {"question": "Who?", "category": 9}
    path = json_file(tmp_path / "a.json", [SAMPLE | {"qa": [one]}])
    assert fault(LocomoReader(), path) == ":2: item 1, qa[0].category: 9 is not a category (allowed: 1 to 5)"
    talk = SAMPLE["conversation"] | {"session_1": [{"speaker": "Ann"}]}
    path = json_file(tmp_path / "b.json", [SAMPLE | {"conversation": talk}])
    assert ":2: item 1, conversation.session_1[0].dia_id: is required but missing" in fault(
        LocomoReader(), path
    )
