"""What the decision to edit weighs."""

from __future__ import annotations

import pytest

from replay.core.drift_evidence import MENTION_KINDS, Mention, Reading
from replay.coreference.edit_evidence import _SOURCES, edit_evidence

COLUMNS = [
    *("own", "top", "second", "kin", "alone", "count", "words", "put words"),
    *MENTION_KINDS,
    *(f"from {source}" for source in _SOURCES),
    *("possessive", "opens", "closes", "capital", "capitals", "digits", "several", "article", "s"),
    *("one word", "long", "very long", "preposition", "put whole", "asked"),
    *(
        "else",
        "mine",
        "yours",
        "asks",
        "auxiliary",
        "courtesy",
        "and",
        "ends in a preposition",
        "the",
        "names",
    ),
    *("number", "?", "sentences", "small", "said", "content"),
]
NUMBERS = {"own", "top", "second", "kin", "alone", "count", "words", "put words", "said", "content"}


def seen(
    question, text, antecedent, put=None, *, source="name", distribution=(), kind="she", possessive=False
):
    """Every number by its name, of *text* in *question* read as *antecedent*."""
    start = question.index(text)
    mention = Mention(start=start, end=start + len(text), text=text, kind=kind, possessive=possessive)
    reading = Reading(mention=mention, antecedent=antecedent, source=source, distribution=distribution)
    found = edit_evidence(question, reading, antecedent if put is None else put)
    return dict(zip(COLUMNS, found, strict=True))


def flags(row):
    return {name for name, value in row.items() if name not in NUMBERS and value}


PLAIN = flags(seen("Did she sing?", "she", "Ann"))


def test_a_plain_case():
    shown = "she, from name, capital, capitals, one word, put whole, auxiliary, ?"

    assert set(shown.split(", ")) == PLAIN


def test_how_sure_the_reading_is():
    row = seen(
        "Did she sing?", "she", "Ann Lee", distribution=((0.5, "Ann Lee"), (0.25, "Ann"), (0.15, "Bob"))
    )

    assert {name: row[name] for name in ("own", "top", "second")} == {"own": 0.5, "top": 0.5, "second": 0.25}
    assert row["kin"] == 0.75  # "Ann" shares a word with "Ann Lee"
    assert (row["alone"], row["count"]) == pytest.approx((0.1, 0.3))


def test_a_reading_without_a_distribution_is_held_for_certain():
    row = seen("Did she sing?", "she", "Ann")

    assert (row["own"], row["top"], row["second"], row["alone"]) == (0, 1, 0, 1)


def test_how_much_is_put():
    row = seen("Did she sing?", "she", "Ann Lee", "the singer Ann Lee")
    many = seen("Did she sing?", "she", "word " * 40)

    assert (row["words"], row["put words"]) == (0.4, 0.8)
    assert (many["words"], many["put words"]) == (3, 3)
    assert (row["said"], row["content"]) == pytest.approx((0.3, 0.2))


@pytest.mark.parametrize("kind", MENTION_KINDS)
def test_the_kind_of_mention_is_told(kind):
    assert {name for name in MENTION_KINDS if seen("Did she?", "she", "Ann", kind=kind)[name]} == {kind}


@pytest.mark.parametrize("source", _SOURCES)
def test_where_the_antecedent_comes_from_is_told(source):
    assert f"from {source}" in flags(seen("Did she?", "she", "Ann", source=source))


@pytest.mark.parametrize(
    ("antecedent", "put", "more", "less"),
    [
        ("ann", None, set(), {"capital"}),
        ("Ann of x", None, set(), {"one word"}),
        ("the Ann", None, {"article"}, {"capital", "one word"}),
        ("Ann 9", None, {"digits"}, {"one word"}),
        ("Ann and Bob", None, {"several"}, {"one word"}),
        ("Ann, Bob", None, {"several"}, {"one word"}),
        ("Anns", None, {"s"}, set()),
        ("Ann Bo Cy Di Ed", None, {"long"}, {"one word"}),
        ("Ann Bo Cy Di Ed Fi Gu Hy Ib", None, {"long", "very long"}, {"one word"}),
        ("Ann", "of Ann", {"preposition"}, set()),
        ("Ann", "she", set(), {"put whole"}),
        ("Sing", None, {"asked"}, set()),
    ],
)  # fmt: skip
def test_what_is_put_is_told_by_its_look(antecedent, put, more, less):
    assert flags(seen("Did she sing?", "she", antecedent, put)) == (PLAIN | more) - less


@pytest.mark.parametrize(
    ("question", "more", "less"),
    [
        ("she sings", {"opens", "small"}, {"auxiliary", "?"}),
        ("Was it she?!", {"closes"}, {"?"}),
        ("Did she sing else?", {"else"}, set()),
        ("Did she sing with me?", {"mine"}, set()),
        ("Did she sing with your band?", {"yours"}, set()),
        ("When did she sing?", {"asks"}, {"auxiliary"}),
        ("Thanks, did she sing?", {"courtesy"}, {"auxiliary"}),
        ("And she?", {"and", "closes"}, {"auxiliary"}),
        ("What about she sing?", {"and", "asks"}, {"auxiliary"}),
        ("Who did she sing with?", {"asks", "ends in a preposition"}, {"auxiliary"}),
        ("Did she sing the aria?", {"the"}, set()),
        ("Did she meet Tom?", {"names"}, set()),
        ("Did she sing in 1990?", {"number"}, set()),
        ("No. Did she sing?", {"courtesy", "sentences", "names"}, {"auxiliary"}),
    ],
)
def test_the_question_is_told_by_its_form(question, more, less):
    assert flags(seen(question, "she", "Ann")) == (PLAIN | more) - less


def test_a_possessive_is_told():
    assert flags(seen("Did she sing?", "she", "Ann", possessive=True)) == PLAIN | {"possessive"}
