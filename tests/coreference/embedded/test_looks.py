"""What the networks are told of a candidate by its looks alone, and how near meanings are."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference.embedded.looks import is_proper, look_row, meanings
from replay.coreference.vectors import SIZE, number_of, vectors

FLAGS = [
    *("date", "plural", "proper"),
    *("work", "group", "time", "event", "relative", "people"),
    "capital",
    *("article", "owner", "pointer"),
    *("one word", "two words", "three words", "more words"),
    *("digit first", "digit", "amount", "lasts", "shouted", "describes"),
    "begins with -ing",
    *("-ing", "-ed", "-ly"),
]


@pytest.mark.parametrize(
    ("text", "key", "kind", "flags", "size", "sex", "person"),
    [
        ("Ada Quibb", "ada quibb", "name", "capital, two words, proper", 0.2, 0, 0.4),
        ("Quibb", "quibb", "title", "capital, one word, proper", 0.1, 0, 0.2),
        ("Quibb and Marlo", "quibb marlo", "name", "capital, two words, plural, proper", 0.2, 0, -1),
        ("the quibb sisters", "quibb sisters", "phrase", "article, two words, plural, relative", 0.2, 0, -1),
        (
            "her running quibb band",
            "running quibb band",
            "phrase",
            "owner, three words, group, begins with -ing",
            0.3,
            0,
            -1,
        ),
        ("these 3 quibb quickly", "3 quibb quickly", "words", "pointer, three words, digit, -ly", 0.3, 0, -1),
        ("May 1871", "may 1871", "date", "capital, two words, digit, date", 0.2, 0, -1),
        ("1871", "1871", "name", "one word, digit first, digit, date", 0.1, 0, -1),
        ("gassy quibb glass", "gassy quibb glass", "words", "three words", 0.3, 0, -0.5),
        ("four quibb trees stood", "four quibb trees stood", "clause", "more words", 0.4, 0, -1),
        ("quibb stayed", "quibb stayed", "clause", "two words, -ed", 0.2, 0, -1),
        ("quibb sailing", "quibb sailing", "phrase", "two words, -ing", 0.2, 0, -0.5),
        (
            "quibb parade fans club",
            "quibb parade fans club",
            "words",
            "more words, plural, group",
            0.4,
            0,
            -1,
        ),
        (
            "Early quibb years",
            "early quibb years",
            "section",
            "capital, three words, plural, time, lasts, describes",
            0.3,
            0,
            -0.5,
        ),
        (
            "Quibb Recordings",
            "quibb recordings",
            "section",
            "capital, two words, plural, proper",
            0.2,
            0,
            0.4,
        ),
        (
            "Quibbing Marlo Vane Song",
            "quibbing marlo vane song",
            "quote",
            "capital, more words, proper, work, begins with -ing",
            0.4,
            0,
            -1,
        ),
        ("mary quibb", "mary quibb", "words", "two words", 0.2, 0, 1),
        ("mary quibb", "mary quibb", "phrase", "two words", 0.2, -0.98, 1),
        ("Quibb trial man", "quibb trial man", "answer", "capital, three words, people", 0.3, 1, 1),
        ("an old quibb trial", "old quibb trial", "answer", "article, three words, event", 0.3, 0, -0.5),
        ("€40", "40", "words", "date, one word, digit, amount", 0.1, 0, -1),
        ("40 euros", "40 euros", "words", "two words, plural, digit first, digit, amount", 0.2, 0, -1),
        ("three hours", "three hours", "phrase", "two words, plural, lasts", 0.2, 0, -0.5),
        ("QUIBB NOW", "quibb now", "name", "capital, two words, proper, shouted", 0.2, 0, 0.4),
        ("Quibb and Marlo Vane", "quibb marlo vane", "list", "capital, three words, plural", 0.3, 0, -1),
        (" ".join(["quibb"] * 21), " ".join(["quibb"] * 21), "answer", "more words", 2.0, 0, -0.5),
    ],
)
def test_what_a_text_looks_like(text, key, kind, flags, size, sex, person):
    sexes, sure, *said, sizes, known = look_row(text, tuple(key.split()), kind)

    assert {name for name, flag in zip(FLAGS, said, strict=True) if flag} == set(flags.split(", "))
    assert (sizes, sexes, sure, known) == pytest.approx((size, sex, person, abs(sex)), abs=0.01)


@pytest.mark.parametrize(
    ("text", "kind", "proper"),
    [
        ("Bob van der Ray", "name", True),
        ("Blue Harbour", "title", True),
        ("Blue harbour", "title", False),
        ("Blue 9 x", "name", True),
        ("Bob Ray", "phrase", False),
    ],
)
def test_a_name_has_capitals_but_for_the_short_words(text, kind, proper):
    assert is_proper(text, kind) is proper


def test_what_a_phrase_means_is_what_its_words_mean_and_most_of_all_its_last():
    (record, single, both, swapped, unknown) = meanings(
        [("record",), ("single",), ("record", "single"), ("single", "record"), ("quibbzz",)]
    )

    assert np.allclose(record, 1.7 * vectors([number_of("record")])[0], atol=0.02)
    assert both @ single > both @ record
    assert swapped @ record > swapped @ single
    assert not unknown.any()
    assert record.shape == (SIZE,)


def test_of_a_long_text_the_last_six_words_count():
    key = ("alpha", "beta", "record", "single", "music", "band", "song", "album")

    assert np.array_equal(meanings([key])[0], meanings([key[2:]])[0])
    assert not np.array_equal(meanings([key])[0], meanings([key[3:]])[0])


def test_a_meaning_does_not_depend_on_what_else_is_asked():
    keys = [("record", "single"), ("quibbzz",), ("old", "band")]

    assert np.allclose(meanings(keys), np.concatenate([meanings([key]) for key in keys]))
