"""What the networks are told of a candidate by its looks alone."""

from __future__ import annotations

import pytest

from replay.coreference.embedded.candidate_features import form_of

KINDS = ["title", "section", "name", "quote", "phrase", "words", "date", "answer", "clause"]
FLAGS = [
    *(f"kind {kind}" for kind in KINDS),
    "capital",
    *("article", "owner", "pointer"),
    *("one word", "two words", "three words", "more words"),
    *("digit", "plural", "proper", "names a section", "date"),
    *("work", "group", "time", "event", "relative", "people"),
    "begins with -ing",
    *("-ing", "-ed", "-ly"),
]


# Names that no other test has: a form is remembered, and these have to be made.
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
        ("1871", "1871", "name", "one word, digit, date", 0.1, 0, -1),
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
            "capital, three words, plural, time",
            0.3,
            0,
            -0.5,
        ),
        (
            "Quibb Recordings",
            "quibb recordings",
            "section",
            "capital, two words, plural, proper, names a section",
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
        (" ".join(["quibb"] * 21), " ".join(["quibb"] * 21), "answer", "more words", 2.0, 0, -0.5),
    ],
)
def test_what_a_text_looks_like(text, key, kind, flags, size, sex, person):
    form = form_of(text, tuple(key.split()), kind)
    *said, sizes, sexes, sure = form.features

    assert [name for name, flag in zip(FLAGS, said, strict=True) if flag] == [
        f"kind {kind}",
        *flags.split(", "),
    ]
    assert set(said) <= {0.0, 1.0}
    assert (sizes, form.sex, sexes, sure) == pytest.approx((size, sex, sex, abs(sex)), abs=0.01)
    assert (form.person, form.is_date, form.is_plural, form.is_proper) == (
        person,
        "date" in flags.split(", "),
        "plural" in flags,
        "proper" in flags,
    )
    assert form.head == form.singulars[-1]
