"""Spans that may name something, sentence by sentence: quotations, names, phrases, dates, runs of words."""

from __future__ import annotations

import pytest

from replay.coreference.embedded.spans import MAX_SCANNED_CHARACTERS, forms, is_date, lines_closed
from replay.coreference.words import tokens


def found(text: str, *, is_question: bool = False) -> list[tuple[str, str, str]]:
    closed = lines_closed(text)
    return [(text[f.start : f.end], f.kind, f.before) for f in forms(closed, tokens(closed), is_question)]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (
            "Dr. J. Smith of the Tin Union met Ann de la Cruz and Bob Lee.",
            [
                ("Dr. J. Smith of the Tin Union", "name", ""),
                ("Ann de la Cruz", "name", "met"),
                ("Ann de la Cruz and Bob Lee", "name", "met"),
                ("Bob Lee", "name", "and"),
                ("the Tin Union met Ann", "phrase", "of"),
            ],
        ),
        (
            "However, Tom and the Tops sang for the Old Guard of Vell.",
            [
                ("Tom and the Tops", "name", "however"),
                ("the Old Guard of Vell", "name", "for"),
                ("the Tops sang", "phrase", "and"),
                ("the Tops sang for the Old Guard", "phrase", "and"),
                ("the Old Guard", "phrase", "for"),
            ],
        ),
        (
            "The Glass Ferry & Sons left.",
            [
                ("The Glass Ferry & Sons", "name", ""),
                ("The Glass Ferry", "phrase", ""),
                ("Glass Ferry", "words", "the"),
                ("Sons left", "words", ""),
            ],
        ),
        (
            'He sang "Blue Moon" and “It” in the album "Salt".',
            [
                ("Blue Moon", "quote", "sang"),
                ("It", "quote", "and"),
                ("Salt", "quote", "album"),
                ("the album", "phrase", "in"),
            ],
        ),
        (
            "In 1974-77 and the 1980s, not 974 or 19745, it rained in 2003.",
            [
                ("the 1980s", "phrase", "and"),
                ("1974-77", "date", "in"),
                ("1980s", "date", "the"),
                ("2003", "date", "in"),
            ],
        ),
        (
            "Ann Lee's old red brick house of cards for the many guests stood there",
            [
                ("Ann Lee", "name", ""),
                ("Ann Lee's old red brick house", "phrase", ""),
                ("Ann Lee's old red brick house of cards", "phrase", ""),
            ],
        ),
        (
            "his three small brown bears and this year's last show",
            [
                ("his three small brown bears", "phrase", ""),
                ("this year", "phrase", "and"),
                ("year's last show", "phrase", "this"),
                ("three small brown bears", "words", "his"),
                ("year", "words", "this"),
                ("last show", "words", ""),
            ],
        ),
        (
            "Mary Jo Lee's house",
            [("Mary Jo Lee", "name", ""), ("Mary Jo Lee's house", "phrase", ""), ("house", "words", "")],
        ),
        ("one two red three blue four green five grey six tall seven old", []),
        (
            "one two red three blue four green five grey six tall seven",
            [
                ("two red three blue", "words", "one"),
                ("four green five grey", "words", "blue"),
                ("six tall seven", "words", "grey"),
            ],
        ),
        (
            "I saw Ida. Then Ida left! Who? Ida: Now Ida",
            [("Ida", "name", "saw"), ("Ida", "name", "then"), ("Ida", "name", ""), ("Ida", "name", "now")],
        ),
        ("Rather Ann", [("Ann", "name", "rather"), ("Rather Ann", "words", "")]),
        (
            "said (Ann) and ‘Bob’ - Cy",
            [("Ann", "name", "said"), ("Bob", "name", "and"), ("Cy", "name", ""), ("said", "words", "")],
        ),
        (
            "St. Olaf and Prof. Vane. Berg. Hill",
            [
                ("St. Olaf", "name", ""),
                ("St. Olaf and Prof", "name", ""),
                ("Prof", "name", "and"),
                ("Vane", "name", ""),
                ("Berg", "name", ""),
                ("Hill", "name", ""),
                ("St", "words", ""),
                ("Olaf", "words", ""),
            ],
        ),
        (
            "Cup of the Nine, King of a Hill",
            [
                ("Cup of the Nine", "name", ""),
                ("King", "name", "nine"),
                ("Hill", "name", "a"),
                ("the Nine", "phrase", "of"),
                ("a Hill", "phrase", "of"),
                ("Cup", "words", ""),
                ("Nine", "words", "the"),
            ],
        ),
        ("the", []),
        ("", []),
        ("Ann and", [("Ann", "name", "")]),
        (
            "Ann and Bob and Cy",
            [
                ("Ann", "name", ""),
                ("Ann and Bob", "name", ""),
                ("Bob", "name", "and"),
                ("Bob and Cy", "name", "and"),
                ("Cy", "name", "and"),
            ],
        ),
        (
            "Ann of de Vell",
            [("Ann of de Vell", "name", ""), ("Ann", "words", ""), ("de Vell", "words", "of")],
        ),
        ("Ann of de la Vell", [("Ann", "name", ""), ("Vell", "name", "la"), ("de la Vell", "words", "of")]),
        (
            "played the ship, the kestrel",
            [
                ("the ship", "phrase", "played"),
                ("the kestrel", "phrase", "ship"),
                ("played", "words", ""),
                ("ship", "words", "the"),
                ("kestrel", "words", "the"),
            ],
        ),
        ('a b: "c d"', [("c d", "quote", ""), ("a b", "phrase", ""), ("b", "words", "a")]),
        ("Bob & Ann Lee", [("Bob & Ann Lee", "name", ""), ("Bob", "words", ""), ("Ann Lee", "words", "")]),
        ("who is Who", []),
        (
            "saw The Band play",
            [
                ("The Band", "name", "saw"),
                ("The Band play", "phrase", "saw"),
                ("saw", "words", ""),
                ("Band play", "words", "the"),
            ],
        ),
        (
            "a book of 1999 pages of the old king for his men",
            [
                ("a book", "phrase", ""),
                ("a book of 1999 pages", "phrase", ""),
                ("the old king", "phrase", "of"),
                ("the old king for his men", "phrase", "of"),
                ("his men", "phrase", "for"),
                ("1999", "date", "of"),
                ("book", "words", "a"),
                ("old king", "words", "the"),
                ("men", "words", "his"),
            ],
        ),
        ("was 's hat", [("was 's hat", "phrase", ""), ("hat", "words", "")]),
        ("The 1960s", [("The 1960s", "phrase", ""), ("1960s", "date", "the")]),
        ("with Abcd. Efg", [("Abcd", "name", "with"), ("Efg", "name", "")]),
        ("(1962–1965)", [("1962–1965", "date", "")]),
        ("1962 - 65s", [("1962", "date", "")]),
    ],
)
def test_spans_with_their_kind_and_the_word_before(text, spans):
    assert found(text) == spans


def test_runs_of_plain_words_are_looked_for_in_questions_and_short_answers():
    """Twelve words or marks are short."""
    said = "one two red three blue four green five grey six tall seven"

    assert [span for span, *_ in found(said)] == [
        "two red three blue",
        "four green five grey",
        "six tall seven",
    ]
    assert found(f"{said} old") == []
    assert len(found(f"{said} old", is_question=True)) == 3


def test_no_more_than_the_first_three_thousand_characters_are_looked_at():
    head = "so " * (MAX_SCANNED_CHARACTERS // 3 - 1)

    assert MAX_SCANNED_CHARACTERS == 3000
    assert [span for span, *_ in found(f"{head}Ida went")] == ["Ida"]
    assert [span for span, *_ in found(f"{head}Idas went")] == ["Ida"]
    assert found(f"{head}so Ida") == []


@pytest.mark.parametrize(
    ("quoted", "is_span"), [("a", False), ("ab", True), ("x" * 60, True), ("x" * 61, False), ("a“b", False)]
)
def test_a_quotation_has_two_to_sixty_characters(quoted, is_span):
    spans = found(f'it is "{quoted}" so far and it was and will be so at no time and on no day')

    assert ((quoted, "quote", "is") in spans) is is_span


@pytest.mark.parametrize(
    ("key", "date"),
    [
        (("1990",), True),
        (("1990s",), True),
        (("may", "1990"), True),
        (("monday",), True),
        (("may", "lee"), False),
        (("90x",), False),
        ((), True),
    ],
)
def test_a_date_is_all_numbers_months_and_days(key, date):
    assert is_date(key) is date


@pytest.mark.parametrize(
    "moment",
    [
        "Friday", "Friday at 3", "next Monday", "Monday 17 June", "Tuesday morning", "15 May", "May 15",
        "3rd March 1990", "June 1990", "14:30", "10 pm", "tomorrow", "late August", "noon",
    ],
)  # fmt: skip
def test_days_and_times_of_day_are_moments(moment):
    assert (moment, "date") in [(text.strip(), kind) for text, kind, _ in found(f"it was {moment} again")]


def test_no_name_goes_beyond_its_line():
    assert [text for text, kind, _ in found("He met Ann Lee\nBob Ray") if kind == "name"] == [
        "Ann Lee",
        "Bob Ray",
    ]
