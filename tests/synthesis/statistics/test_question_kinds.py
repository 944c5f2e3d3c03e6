"""Questions by their words."""

from __future__ import annotations

import pytest

from replay.synthesis.statistics.question_kinds import is_elliptical, is_yes_no, question_word


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("What is it?", "what"),
        ("And who wrote the song?", "who"),
        ("Whose idea was it?", "who"),
        ("In which year did she leave?", "which"),
        ("How many albums did they sell?", "how many"),
        ("How did it end?", "how"),
        ("Did he win?", "yes/no"),
        ("Didn’t he win?", "yes/no"),
        ("So, is it open?", "yes/no"),
        ("After the war, what did he do?", "what"),
        ("The band broke up when?", "when"),
        ("Can you tell me about the price?", "request"),
        ("Tell me more.", "request"),
        ("I'm cold. What can I do? Thanks.", "what"),
        ("That's odd! Is it true?", "yes/no"),
        ("I like those which are red.", "other"),
        ("Something about the others", "other"),
        ("...", "other"),
    ],
)
def test_which_word_asks(question, word):
    assert question_word(question) == word


def test_yes_or_no_and_one_of_two_things():
    assert is_yes_no("Is it red?")
    assert not is_yes_no("Is it red or blue?")
    assert not is_yes_no("What is it?")


@pytest.mark.parametrize(
    "question",
    ["Why?", "And for children?", "How about the second?", "What else did he do?", "Any other albums?",
     "In 1990?", "Who else?", "What about her mother?", "And after that?", "Really?", "The red one?"],
)  # fmt: skip
def test_what_leaves_something_out(question):
    assert is_elliptical(question)


@pytest.mark.parametrize(
    "question",
    ["Why did he leave?", "And what did he do then?", "Who wrote it?", "So is it open?",
     "Tell me about the price.",
     "It didn't start.", "How many did they sell?", "I would like to know more of the history of it."],
)  # fmt: skip
def test_what_is_a_whole_question(question):
    assert not is_elliptical(question)
