"""Quotes are the document's words, questions can be asked."""

from __future__ import annotations

import pytest

from replay.synthesis.documents.document import SourceSection
from replay.synthesis.model.writer import find_quote, question_fault


def section(text: str, number: int = 1) -> SourceSection:
    return SourceSection(id=f"a.md#{number}", headings=(), text=text, start=0, end=len(text), blocks=())


TEXT = "The tool — called “Ada” — reads a file. It costs 5.50 dollars (a year)."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("reads a file", "reads a file"),
        ("Reads  a\nFILE.", "reads a file."),
        ('The tool - called "Ada"', "The tool — called “Ada"),
        ("a file It costs", "a file. It costs"),
        ("5.50 dollars (a year)", "5.50 dollars (a year)"),
        ("reads file", None),
        ("reads a", "reads a"),
        ("ads a file", None),
        ("", None),
        ("—", None),
    ],
)
def test_a_quote_is_found_by_its_words(quote, found):
    quoted = find_quote(quote, [section("Nothing."), section(TEXT, 2)], None)
    assert (quoted.text if quoted else None) == found


def test_the_numbered_section_comes_first():
    sections = [section("It is so.", 1), section("It is so.", 2)]
    assert [q.section.id for n in (2, 1, None, 9, 0) if (q := find_quote("it is so", sections, n))] == [
        "a.md#2", "a.md#1", "a.md#1", "a.md#1", "a.md#1",
    ]  # fmt: skip


UNNAMED = 'the standalone form says "{word}" for something that only the conversation names'


@pytest.mark.parametrize(
    ("question", "standalone", "fault"),
    [
        ("Who built the mill?", "Who built the mill?", None),
        ("And the mill?", "Who built the mill?", None),
        ("Who built the bridge?", "who built the bridge ?", "that was asked before"),
        ("Is it?", "Is it?", UNNAMED.format(word="it")),
        ("How?", "How large is it?", UNNAMED.format(word="it")),
        ("Its price?", "What is its price?", UNNAMED.format(word="its")),
        ("And its doors?", "When did the mill open its doors?", None),
        ("What?", "What is there?", "the standalone form names nothing"),
        ("Why\nso?", "Why is the mill old?", "the question is no single line"),
        ("The mill", "The mill", "the standalone form ends without a question mark"),
        (" ", "Who built the mill?", "the question is empty"),
        ("Can I help? As an AI, no", "Can I help?", "the question refuses; it must ask"),
        ("Why " * 31, "Why is the mill old?", "the question is longer than 30 words"),
    ],
)
def test_questions_are_checked(question, standalone, fault):
    assert question_fault(question, standalone, ["Who built the bridge?"]) == fault


def test_a_question_that_holds_its_answer_gives_it_away():
    asked = "Is the mill red and does it stand in Oldtown?"
    standalone = "Is the mill red and does the mill stand in Oldtown?"
    assert (
        question_fault(asked, standalone, ["x?"], "The mill is red.") == "the question gives the answer away"
    )
    assert question_fault(asked, standalone, ["x?"], "Ada Byron painted the mill red in 1870.") is None
