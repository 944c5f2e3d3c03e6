from __future__ import annotations

from replay.core.history import Exchange
from replay.coreference.resolver import Document
from replay.coreference.training.annotated_questions import Example
from replay.coreference.training.word_vectors import candidates, said_words


def example(question, answer="", rewrite=""):
    document = Document(question=question, turns=(Exchange(question="", answer=answer),))
    return Example(dialog="d", group="g", document=document, rewrite=rewrite)


def test_words_that_are_said_often_come_first_and_the_vocabulary_after_them():
    said = said_words(
        [example(f"Which harbour {n}?", f"The harbour, the old harbour {n}.") for n in range(5)]
    )
    found = candidates(said, ["[CLS]", "##ing", "harbour", "quay", "x", "7", "o'clock"])

    assert said["harbour"] == 15
    assert (found[0], found[-1]) == ("harbour", "quay")
    assert sorted(found) == ["harbour", "old", "quay", "the", "which"]


def test_a_text_that_stands_in_many_examples_counts_once():
    assert said_words([example(f"Which {n}?", "A quay.") for n in range(9)])["quay"] == 1
