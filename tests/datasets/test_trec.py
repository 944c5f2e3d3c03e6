"""
TREC CAsT topics of both years.

TREC iKAT topics.
"""

from __future__ import annotations

import pytest

from replay.core.conversation import Passage
from replay.datasets.trec import CastReader, IkatReader
from tests.datasets.files import contract, fault, json_file, only


def turn_2021(number, passage="Ducts.", document="MARCO_D1", **more):
    return {
        "number": number,
        "raw_utterance": f"Raw {number}?",
        "passage": passage,
        "manual_rewritten_utterance": f"Manual {number}?",
        "canonical_result_id": document,
        "passage_id": number,
        "automatic_rewritten_utterance": f"Automatic {number}?",
        **more,
    }


def turn_2022(number, **more):
    return {
        "number": number,
        "utterance": f"Utterance {number}?",
        "manual_rewritten_utterance": f"Manual {number}?",
        "response": f"Response {number}.",
        "provenance": ["KILT_1-2", "MARCO_3-4"],
        **more,
    }


TOPICS_2021 = [{"number": 106, "turn": [turn_2021(1), turn_2021(2)]}, {"number": 107, "turn": [turn_2021(1)]}]
UNANSWERED = {k: v for k, v in turn_2022("2-3").items() if k not in ("response", "provenance")}
PATHS_2022 = [
    {"number": 132, "turn": [turn_2022("1-1"), turn_2022("1-3")]},
    {"number": 132, "turn": [turn_2022("1-1"), turn_2022("2-1"), UNANSWERED]},
]


TestCastReader2021 = contract(
    CastReader(), "good.json", TOPICS_2021, [{"number": 106, "turn": [turn_2021(1, 5)]}, TOPICS_2021[1]]
)


TestCastReader2022 = contract(
    CastReader(), "good.json", PATHS_2022, [{"turn": PATHS_2022[0]["turn"]}, PATHS_2022[1]]
)


def test_a_2021_turn_is_answered_by_its_canonical_passage(tmp_path):
    found = only(CastReader(), json_file(tmp_path / "a.json", TOPICS_2021[:1]))
    turn = found.turns[1]

    assert found.id == "106"
    assert (turn.id, turn.question, turn.standalone) == ("106_2", "Raw 2?", "Manual 2?")
    assert turn.gold_answers == ("Ducts.",)
    assert turn.gold_passages == ("MARCO_D1-2",)
    assert found.passages[1] == Passage(id="MARCO_D1-2", text="Ducts.")


def test_one_passage_id_with_two_texts_is_one_passage_that_holds_both(tmp_path):
    turns = [turn_2021(1, "A."), turn_2021(2, "B.", passage_id=1), turn_2021(3, "A.", passage_id=1)]

    found = only(CastReader(), json_file(tmp_path / "a.json", [{"number": 1, "turn": turns}]))

    assert found.passages == (Passage(id="MARCO_D1-1", text="A.\nB."),)
    assert {turn.gold_passages for turn in found.turns} == {("MARCO_D1-1",)}


def test_passages_are_not_in_the_order_of_the_turns_they_answer(tmp_path):
    turns = [turn_2021(1, "A.", "MARCO_D9"), turn_2021(2, "B.", "MARCO_D5")]

    found = only(CastReader(), json_file(tmp_path / "a.json", [{"number": 1, "turn": turns}]))

    assert [passage.text for passage in found.passages] == ["B.", "A."]


def test_a_2022_path_is_named_by_its_last_turn(tmp_path):
    first, second = CastReader().read(json_file(tmp_path / "a.json", PATHS_2022))

    assert (first.id, second.id) == ("132_1-3", "132_2-3")
    assert [turn.id for turn in second.turns] == ["132_1-1", "132_2-1", "132_2-3"]
    assert first.turns[0].gold_answers == ("Response 1-1.",)
    assert first.turns[0].gold_passages == ("KILT_1-2", "MARCO_3-4")
    assert first.passages == ()
    assert second.metadata == {"topic": 132}


def test_paths_that_end_in_the_same_turn_are_counted(tmp_path):
    found = CastReader().read(json_file(tmp_path / "a.json", [PATHS_2022[0], PATHS_2022[0]]))

    assert [conversation.id for conversation in found] == ["132_1-3", "132_1-3_2"]


def test_a_turn_without_a_response_is_asked_but_unscored(tmp_path):
    found = only(CastReader(), json_file(tmp_path / "a.json", PATHS_2022[1:]))

    assert found.turns[2].gold_answers == ()
    assert found.turns[2].gold_passages == ()


def test_automatic_rewrites_can_be_asked_for_where_there_are_some(tmp_path):
    reader = CastReader(rewrites="automatic")

    assert only(reader, json_file(tmp_path / "a.json", TOPICS_2021[1:])).turns[0].standalone == "Automatic 1?"
    assert (
        'turn[0].automatic_rewritten_utterance: is missing, as in all 2022 files; set rewrites to "manual"'
        in (fault(reader, json_file(tmp_path / "b.json", PATHS_2022[:1])))
    )


def test_a_turn_without_an_utterance_is_an_error(tmp_path):
    path = json_file(tmp_path / "a.json", [{"number": 1, "turn": [{"number": 1}]}])

    assert fault(CastReader(), path).startswith(":2: item 1, turn[0].utterance: is required but missing")


@pytest.mark.parametrize(
    ("name", "conversations", "turns", "unscored"),
    [
        ("2021_manual_evaluation_topics_v1.0.json", 26, 239, 0),
        ("2022_evaluation_topics_flattened_duplicated_v1.0.json", 50, 284, 6),
    ],
)
def test_the_published_topics_are_read(shared_data, name, conversations, turns, unscored):
    found = list(CastReader().read(shared_data / "cast" / name))

    assert len({conversation.id for conversation in found}) == conversations
    all_turns = [turn for conversation in found for turn in conversation.turns]
    assert len(all_turns) == turns
    assert sum(not turn.gold_answers for turn in all_turns) == unscored
    assert all(turn.standalone for turn in all_turns)


def turn(number, **more):
    return {
        "turn_id": number,
        "utterance": f"Utterance {number}?",
        "resolved_utterance": f"Resolved {number}?",
        "response": f"Response {number}.",
        "ptkb_provenance": [],
        "response_provenance": ["clueweb22-en0000-1:2"],
        **more,
    }


def topic(number, *turns):
    ptkb = {"1": "I have two sisters.", "2": "I paint", "3": "Do I swim?"}
    return {"number": number, "title": "Travel", "ptkb": ptkb, "turns": turns}


TOPICS = [topic(0, turn(1, ptkb_provenance=[2, 1]), turn(2, response="")), topic("1-2", turn(1))]


TestIkatReader = contract(IkatReader(), "good.json", TOPICS, [topic(0, turn(1, utterance=None)), TOPICS[1]])


def test_statements_about_the_user_are_the_background(tmp_path):
    found = only(IkatReader(), json_file(tmp_path / "a.json", TOPICS[:1]))

    assert (found.id, found.title) == ("0", "Travel")
    assert found.background == "I have two sisters. I paint. Do I swim?"


def test_a_turn_has_its_resolved_form_its_passages_and_the_statements_it_rests_on(tmp_path):
    first, second = only(IkatReader(), json_file(tmp_path / "a.json", TOPICS[:1])).turns

    assert (first.id, first.question, first.standalone) == ("0_1", "Utterance 1?", "Resolved 1?")
    assert first.gold_answers == ("Response 1.",)
    assert first.gold_passages == ("clueweb22-en0000-1:2",)
    assert first.fact == "I paint. I have two sisters."
    assert (second.gold_answers, second.fact) == ((), None)


def test_a_statement_that_is_not_there_is_an_error(tmp_path):
    path = json_file(tmp_path / "a.json", [topic(0, turn(1, ptkb_provenance=[7]))])

    assert "turns[0].ptkb_provenance: names statement 7, which the ptkb doesn't have" in fault(
        IkatReader(), path
    )


def test_the_published_ikat_topics_are_read(shared_data):
    found = list(IkatReader().read(shared_data / "ikat" / "2024_test_topics.json"))

    assert (len(found), sum(len(conversation.turns) for conversation in found)) == (17, 218)
    assert found[0].title == "Traveling to Egypt"
    assert found[0].background.startswith("I practice yoga daily. I have curly hair")
    assert all(turn.gold_answers and turn.standalone for c in found for turn in c.turns)
