"""Turns that were there before, nearly."""

from __future__ import annotations

from replay.core.conversation import Conversation, Turn
from replay.datasets.near_duplicates import duplicate_texts, duplicate_turns, near_duplicates, turn_text

LONG = "The reader cuts the text of a file into sections and each section into the sentences that it holds"


def conversation(name: str, *questions: str) -> Conversation:
    turns = [
        Turn(id=f"{name}{n}", question=q, gold_answers=(f"Because of {q}",)) for n, q in enumerate(questions)
    ]
    return Conversation(id=name, turns=tuple(turns))


def test_what_differs_in_a_word_or_a_mark_is_nearly_the_same():
    texts = [
        f"{LONG} today.",
        f"{LONG}, today!",
        f"{LONG} tomorrow.",
        "Something else of some length it is.",
        "",
        "",
    ]
    assert duplicate_texts(texts) == {1: 0, 2: 0}


def test_the_words_in_another_order_are_another_text():
    words = LONG.split()
    assert duplicate_texts([LONG, " ".join(reversed(words))]) == {}


def test_exact_repetitions_are_found_in_any_case():
    assert duplicate_texts(["Who?", LONG, "Who?", LONG.upper()]) == {2: 0, 3: 1}


def test_the_standalone_question_and_the_answer_tell_turns_apart():
    turn = Turn(id="1", question="Why?", standalone="Why is it red?", gold_answers=("So.", "Yes."))
    assert turn_text(turn) == "Why is it red?\nSo."
    assert turn_text(Turn(id="1", question="Why?")) == "Why?\n"


def test_turns_of_any_conversation_are_told_that_repeat_others():
    first = conversation("a", "who is it", "what is it", "why is it so")
    same = conversation("b", "who is it", "what is it", "where is it")
    other = conversation("c", "how much is it", "who is it", "when is it")
    assert duplicate_turns([first, same, other]) == {("b", 1), ("b", 2), ("c", 2)}


def test_of_few_sets_the_same_ones_repeat_as_of_many():
    """Few are compared each with each, many by what their sketches propose."""
    words = [frozenset(f"{n} {at}" for at in range(20)) for n in range(60)]
    nearly = [words[3] | {"another"}, words[5] - {"5 0"}, frozenset[str](), words[7]]
    few, many = [*words[:10], *nearly], [*words, *words[10:], *nearly]

    assert near_duplicates(few, "synthesis") == {10: 3, 11: 5, 13: 7}
    found = near_duplicates(many, "synthesis")
    assert [found.get(len(many) - at) for at in (4, 3, 2, 1)] == [3, 5, None, 7]
    assert len(found) == 50 + 3
