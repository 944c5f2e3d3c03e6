"""TREC iKAT topics."""

from __future__ import annotations

from replay.datasets.trec import IkatReader
from tests.datasets.files import contract, fault, json_file, only


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


def test_the_published_topics_are_read(shared_data):
    found = list(IkatReader().read(shared_data / "ikat" / "2024_test_topics.json"))

    assert (len(found), sum(len(conversation.turns) for conversation in found)) == (17, 218)
    assert found[0].title == "Traveling to Egypt"
    assert found[0].background.startswith("I practice yoga daily. I have curly hair")
    assert all(turn.gold_answers and turn.standalone for c in found for turn in c.turns)
