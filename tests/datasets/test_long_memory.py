"""
LongMemEval's questions, by files in their shape, and the stream that they are read from.

LoCoMo's dialogues, by files in their shape.
"""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, strategies as st

from replay.core.conversation import CANNOT_ANSWER, Conversation
from replay.core.errors import DatasetError
from replay.core.history import gold_history
from replay.datasets import json_rows
from replay.datasets.json_rows import stream_objects
from replay.datasets.long_memory import LocomoReader, LongMemEvalReader
from tests.data_tables import from_table
from tests.datasets.files import contract, fault, json_file, only


def said(role, content, **more):
    return {"role": role, "content": content, **more}


CAT = [
    said("user", "My cat is Bo.", has_answer=True),
    said("assistant", "A fine name."),
    said("user", "Bye."),
]
CAR = [
    said("assistant", "Welcome back."),
    said("user", "Sell me a car."),
    said("assistant", "Which one?", has_answer=False),
    said("user", "The red one, for my cat Bo.", has_answer=True),
    said("assistant", "Sold."),
]
RAIN = [said("user", "Does it rain?"), said("assistant", "It does.")]
QUESTION = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "What is my cat called?",
    "answer": "Bo",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 09:00"],
    "haystack_session_ids": ["car", "cat", "rain"],  # as the oracle's file has them, in no order
    "haystack_sessions": [CAR, CAT, RAIN],
    "answer_session_ids": ["cat", "car"],
}
COUNTED = QUESTION | {"question_id": "q2", "answer": 2, "question_type": "multi-session"}
UNKNOWN = QUESTION | {"question_id": "q3_abs", "answer": "You never said."}


TestLongMemEvalReader = contract(
    LongMemEvalReader(),
    "oracle.json",
    [QUESTION, COUNTED, UNKNOWN],
    [(QUESTION | {"haystack_dates": ["2023/05/21 (Sun) 10:00"]}), COUNTED, UNKNOWN],
)


def test_the_history_is_there_by_date_and_the_question_last(tmp_path):
    talk = only(LongMemEvalReader(), json_file(tmp_path / "a.json", [QUESTION]))

    assert [(turn.session, turn.question, turn.gold_answer) for turn in talk.turns] == [
        ("cat", "My cat is Bo.", "A fine name."),
        ("cat", "Bye.", ""),
        ("car", "Sell me a car.", "Which one?"),
        ("car", "The red one, for my cat Bo.", "Sold."),
        ("rain", "Does it rain?", "It does."),
        ("q1", "What is my cat called?", "Bo"),
    ]
    assert talk.turns[-1].evidence == ("cat#1", "car#2")
    assert talk.turns[-1].kind == "single-session-user"
    assert talk.distance_back(6) == (3, 5)
    assert talk.metadata["timestamps"][0] == "2023-05-20T02:21:00"
    told = [[(message.role, message.text) for message in turn.asked_with] for turn in talk.turns]
    assert told[2] == [("system", "Date: 2023/05/21 (Sun) 10:00"), ("assistant", "Welcome back.")]
    assert told[-1] == [("system", "Date: 2023/05/30 (Tue) 23:40")]
    sent = [m.text for exchange in gold_history(talk, 6) for m in exchange.messages]
    assert sent[:4] == ["My cat is Bo.", "A fine name.", "Bye.", "Sell me a car."], "nobody answered Bye."


def test_what_nobody_said_has_no_evidence_and_calls_for_a_refusal(tmp_path):
    talk = only(LongMemEvalReader(), json_file(tmp_path / "a.json", [UNKNOWN]))
    last = talk.turns[-1]

    assert (last.kind, last.gold_answer, last.evidence) == ("abstention", CANNOT_ANSWER, ())
    assert talk.distance_back(6) == (None, None)


def test_dates_may_be_left_out_and_a_session_that_is_there_twice_is_two(tmp_path):
    twice = QUESTION | {"haystack_session_ids": ["car", "car", "rain"], "answer_session_ids": ["car"]}
    talk = only(LongMemEvalReader(dates=False), json_file(tmp_path / "a.json", [twice]))

    sessions = list(dict.fromkeys(turn.session for turn in talk.turns))
    assert sessions == ["car", "car (2)", "rain", "q1"]
    assert not any(message.role == "system" for turn in talk.turns for message in turn.asked_with)
    assert talk.turns[-1].evidence == ("car#1", "car (2)#2")


def test_evidence_whose_turn_is_not_marked_is_its_session_first_turn(tmp_path):
    bare = [{key: value for key, value in one.items() if key != "has_answer"} for one in CAR]
    unmarked = QUESTION | {"haystack_sessions": [bare, CAT, RAIN], "answer_session_ids": ["car"]}
    talk = only(LongMemEvalReader(), json_file(tmp_path / "a.json", [unmarked]))
    assert talk.turns[-1].evidence == ("car#1",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"haystack_dates": ["x"]}, ":2: item 1, haystack_dates: has 1 entries for 3 sessions"),
        (
            {"haystack_sessions": [[said("bot", "Hi")], CAT, RAIN]},
            ':2: item 1, session "car": "bot" is not a role (allowed: user, assistant)',
        ),
        ({"question": 7}, ":2: item 1, question: found a whole number, expected text"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    assert fault(LongMemEvalReader(), json_file(tmp_path / "a.json", [QUESTION | change])) == message


OBJECTS = st.dictionaries(
    st.text(max_size=4),
    st.recursive(st.text(max_size=9) | st.integers(), lambda one: st.lists(one, max_size=3), max_leaves=5),
    max_size=3,
)


@given(st.lists(OBJECTS, max_size=5), st.sampled_from([None, 1]), st.booleans(), st.integers(1, 40))
def test_a_stream_gives_what_a_decoder_gives_wherever_it_is_cut(
    tmp_path_factory, objects, indent, ascii, chunk
):
    path = tmp_path_factory.mktemp("stream") / "list.json"
    path.write_text(json.dumps(objects, indent=indent, ensure_ascii=ascii), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "CHUNK_BYTES", chunk)
        found = list(stream_objects(path))

    assert [json.loads(data) for _, data in found] == objects
    text = path.read_bytes()
    for place, data in found:
        assert data.splitlines()[0] in text.splitlines()[place.line - 1]
    assert [place.item for place, _ in found] == list(range(1, len(objects) + 1))


@from_table
def test_a_stream_says_where_it_is_broken(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DatasetError) as caught:
        list(stream_objects(path))
    assert message in str(caught.value)


def test_one_question_is_held_at_a_time(tmp_path):
    """A file of many times the size takes no more memory."""

    def peak(questions):
        path = tmp_path / f"{questions}.json"
        filler = [said("user", "word " * 4000), said("assistant", "word " * 4000)]
        long = QUESTION | {"haystack_sessions": [CAR, CAT, filler * 5]}
        path.write_text(json.dumps([long | {"question_id": f"q{n}"} for n in range(questions)]))
        tracemalloc.start()
        try:
            for found in LongMemEvalReader().read(path):
                assert isinstance(found, Conversation)
            return path.stat().st_size, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "CHUNK_BYTES", 2**16)
        (few, least), (many, most) = peak(3), peak(60)
    assert many > 15 * few
    assert most < 1.5 * least


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


def test_what_is_wrong_in_locomo_is_named(tmp_path):
    one = {"question": "Who?", "category": 9}
    path = json_file(tmp_path / "a.json", [SAMPLE | {"qa": [one]}])
    assert fault(LocomoReader(), path) == ":2: item 1, qa[0].category: 9 is not a category (allowed: 1 to 5)"
    talk = SAMPLE["conversation"] | {"session_1": [{"speaker": "Ann"}]}
    path = json_file(tmp_path / "b.json", [SAMPLE | {"conversation": talk}])
    assert ":2: item 1, conversation.session_1[0].dia_id: is required but missing" in fault(
        LocomoReader(), path
    )
