"""
What the shipped synthetic conversations promise (scenarios/conversations/README.md).

Reads them as plain JSON, so that a fault in a reader can't hide one in the data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "scenarios" / "conversations"
FILES = sorted(FOLDER.glob("*.jsonl"))

CONVERSATIONS: list[dict[str, Any]] = [
    json.loads(line) for file in FILES for line in file.read_text(encoding="utf-8").splitlines()
]
TURNS: list[dict[str, Any]] = [turn for conversation in CONVERSATIONS for turn in conversation["turns"]]

CANNOT_ANSWER = "CANNOTANSWER"

THIRD_PERSON = re.compile(
    r"\b(he|him|his|she|her|hers|it|its|they|them|their|theirs"
    r"|himself|herself|itself|themselves)\b",
    re.IGNORECASE,
)

# Ellipsis ("Why less?"), "there" and "the album" are left out: a word
# list can't tell them from plain uses, so the share below counts too few.
ANAPHORA = re.compile(
    THIRD_PERSON.pattern + r"|\b(this|that|these|those)\b",
    re.IGNORECASE,
)

# Standalone questions whose pronoun finds its antecedent in the question itself.
OWN_ANTECEDENT = {
    "music-imke-sarpong#1": "her: Imke Sarpong, two words earlier",
    "sport-vellmoor-otters#1": "their: the Vellmoor Otters, two words earlier",
    "support-tallyroost#1": "her: the accountant Pilar, in the sentence before",
}

each_conversation = pytest.mark.parametrize(
    "conversation", CONVERSATIONS, ids=[conversation["id"] for conversation in CONVERSATIONS]
)


def plain(text: str) -> str:
    """*text* in lower case, without final punctuation."""
    return text.strip().rstrip(".!?").casefold()


def test_there_are_enough_of_them() -> None:
    assert len(CONVERSATIONS) >= 16
    assert len({conversation["metadata"]["domain"] for conversation in CONVERSATIONS}) >= 5


def test_ids_are_unique() -> None:
    ids = [conversation["id"] for conversation in CONVERSATIONS]
    ids += [turn["id"] for turn in TURNS]
    ids += [passage["id"] for conversation in CONVERSATIONS for passage in conversation["passages"]]

    assert [name for name, uses in Counter(ids).items() if uses > 1] == []


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_file_holds_one_domain(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()

    assert {json.loads(line)["metadata"]["domain"] for line in lines} == {file.stem}


@each_conversation
def test_a_conversation_has_every_field(conversation: dict[str, Any]) -> None:
    fields = {"id", "title", "section", "background", "passages", "turns", "metadata"}
    turn_fields = {"id", "question", "gold_answers", "standalone", "gold_passages"}

    assert set(conversation) == fields
    assert all(conversation[field] for field in fields)
    assert all(set(turn) == turn_fields for turn in conversation["turns"])
    assert all(set(passage) == {"id", "title", "text"} for passage in conversation["passages"])


@each_conversation
def test_a_conversation_has_six_to_ten_turns_numbered_from_one(
    conversation: dict[str, Any],
) -> None:
    turns = conversation["turns"]

    assert 6 <= len(turns) <= 10
    assert [turn["id"] for turn in turns] == [
        f"{conversation['id']}#{depth}" for depth in range(1, len(turns) + 1)
    ]


@each_conversation
def test_a_conversation_has_three_to_six_passages_of_three_to_seven_sentences(
    conversation: dict[str, Any],
) -> None:
    assert 3 <= len(conversation["passages"]) <= 6
    for passage in conversation["passages"]:
        assert 3 <= len(re.findall(r"[.!?](?=\s|$)", passage["text"])) <= 7, passage["id"]


@each_conversation
def test_the_first_gold_answer_stands_in_a_gold_passage(conversation: dict[str, Any]) -> None:
    passages = {passage["id"]: passage["text"] for passage in conversation["passages"]}
    for turn in conversation["turns"]:
        answer = turn["gold_answers"][0]
        if answer == CANNOT_ANSWER:
            continue
        texts = [passages[passage_id].casefold() for passage_id in turn["gold_passages"]]

        assert any(plain(answer) in text for text in texts), turn["id"]
        assert 4 <= len(answer.split()) <= 25, turn["id"]


@each_conversation
def test_an_unanswerable_turn_has_no_other_answer_and_no_passage(conversation: dict[str, Any]) -> None:
    for turn in conversation["turns"]:
        if CANNOT_ANSWER in turn["gold_answers"]:
            assert turn["gold_answers"] == [CANNOT_ANSWER], turn["id"]
            assert turn["gold_passages"] == [], turn["id"]
        else:
            assert all(answer.strip() for answer in turn["gold_answers"]), turn["id"]
            assert turn["gold_passages"], turn["id"]


@each_conversation
def test_a_standalone_question_leans_on_nothing(conversation: dict[str, Any]) -> None:
    dangling = re.compile(
        # "that" may also open a clause ("the wheel that broke"): only "that" at
        # the end or before "one" is sure to point backwards.
        THIRD_PERSON.pattern + r"|\b(this|these|those)\b|\bthat(?= one\b|\W*$)",
        re.IGNORECASE,
    )

    for turn in conversation["turns"]:
        assert turn["standalone"].strip(), turn["id"]
        if turn["id"] not in OWN_ANTECEDENT:
            assert dangling.findall(turn["standalone"]) == [], turn["id"]


def test_the_allowed_pronouns_are_still_there() -> None:
    """An exception that nothing needs any more would hide the next mistake."""
    standalone = {turn["id"]: turn["standalone"] for turn in TURNS}

    assert [name for name in OWN_ANTECEDENT if not THIRD_PERSON.search(standalone[name])] == []


@each_conversation
def test_the_first_question_stands_alone(conversation: dict[str, Any]) -> None:
    first = conversation["turns"][0]

    assert first["standalone"] == first["question"]


def test_at_least_half_of_the_questions_hold_an_anaphor() -> None:
    assert sum(bool(ANAPHORA.search(turn["question"])) for turn in TURNS) / len(TURNS) >= 0.5


def test_some_questions_cannot_be_answered() -> None:
    unanswerable = sum(turn["gold_answers"] == [CANNOT_ANSWER] for turn in TURNS)

    assert 0.04 <= unanswerable / len(TURNS) <= 0.15
