"""What the networks are told of mentions, of candidates, and of how each candidate fits each mention."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from replay.core.history import Exchange
from replay.coreference.embedded.features import FITS, describe
from replay.coreference.embedded.looks import CandidateKind
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document

KINDS = get_args(CandidateKind)
FIT = {
    "sex": 0, "other sex": 1, "he/she person": 2, "name": 3, "it person": 5, "it topic": 6, "it plural": 7,
    "they plural": 8, "this person": 11, "known": 12, "asked last": 13, "new": 14, "likeness": 15,
    "same head": 17, "has noun": 18, "behind noun": 19, "has words": 20, "time": 22, "order": 24,
}  # fmt: skip


def document(question, *said, **heading):
    turns = tuple(Exchange(question=q, answer=a) for q, a in zip(said[::2], said[1::2], strict=True))
    return Document(question=question, turns=turns, **heading)


def fits(name, doc, mention=0):
    """The number called *name* of each candidate, for one of the question's mentions."""
    scene = look_at(doc)
    column = describe(scene).fits[mention, :, FIT[name]]
    return {one.text: float(value) for one, value in zip(scene.candidates, column, strict=True)}


def having(name, doc, mention=0):
    """The candidates of which it is above 0."""
    return {text for text, value in fits(name, doc, mention).items() if value > 0}


def told(text, doc):
    """The row of the candidate *text*."""
    scene = look_at(doc)
    return describe(scene).candidates[[one.text for one in scene.candidates].index(text)]


LIST = ("Which are there?", "We have the Aero, the Vento and the Pico.")
DOCUMENTS = [
    document("Did she like it?", "Who came?", "Ann Lee came with Bob.", title="Blue Moon (song)"),
    document("How much is the second one?", *LIST),
    document("Why?", "Who?", "Tom.", background="Long ago in Rome."),
]


@pytest.mark.parametrize("doc", DOCUMENTS)
def test_every_mention_every_candidate_and_every_pair_has_a_row(doc):
    scene, other = look_at(doc), describe(look_at(DOCUMENTS[0]))
    seen = describe(scene)

    assert seen.mentions.shape == (len(scene.mentions), other.mentions.shape[1])
    assert seen.candidates.shape == (len(scene.candidates), other.candidates.shape[1])
    assert seen.fits.shape == (len(scene.mentions), len(scene.candidates), FITS)
    for part in (seen.mentions, seen.candidates, seen.fits):
        assert part.dtype == np.float32
        assert np.isfinite(part).all()
        assert np.abs(part).max() < 10


@pytest.mark.parametrize("doc", DOCUMENTS)
def test_a_candidates_first_columns_are_its_kind(doc):
    scene = look_at(doc)
    rows = describe(scene).candidates[:, : len(KINDS)]

    assert [KINDS[row.argmax()] for row in rows] == [one.kind for one in scene.candidates]
    assert rows.sum(axis=1).tolist() == [1] * len(rows)


def test_what_is_asked_of_a_list_fits_what_stands_at_its_place():
    assert having("order", document("How much is the second one?", *LIST)) >= {"the Vento"}
    assert not {"the Aero", "the Pico"} & having("order", document("How much is the second one?", *LIST))
    assert having("order", document("And the last?", *LIST)) >= {"the Pico"}
    assert not {"the Aero", "the Vento"} & having("order", document("And the last?", *LIST))
    assert having("order", document("And the others?", *LIST)) == set()


def test_the_newest_list_counts_for_what_stands_in_two():
    other = ("And elsewhere?", "The Vento, the Pico and the Aero.")

    assert "the Vento" in having("order", document("And the first?", *LIST, *other))
    assert "the Aero" not in having("order", document("And the first?", *LIST, *other))


def test_a_first_name_fits_its_pronoun():
    doc = document("Did she or he sing?", "Who came?", "Mary Lee came with John Ray.")

    assert having("sex", doc) >= {"Mary Lee"}
    assert having("other sex", doc) >= {"John Ray"}
    assert "John Ray" in having("sex", doc, 1)
    assert "Mary Lee" in having("other sex", doc, 1)
    assert having("it person", doc) == set()


def test_a_noun_fits_what_has_it_and_what_stands_behind_it():
    doc = document(
        "Was that album good?", "What came out?", "The album Blue Moon, an old rock album, and the band."
    )

    assert having("behind noun", doc) >= {"Blue Moon"}
    assert having("same head", doc) >= {"an old rock album"}
    assert "the band" not in having("has noun", doc)
    assert fits("likeness", doc)["an old rock album"] > fits("likeness", doc)["the band"]


def test_a_time_fits_a_noun_of_time_alone():
    said = ("When was it?", "It was in 1990.")

    assert having("time", document("Was it good in that year?", *said), 1) == {"1990"}
    assert having("time", document("Was it good with that band?", *said), 1) == set()


def test_what_was_spoken_of_is_known_where_the_kind_was_used_before():
    said = ("Did she go?", "Mary Lee did.", "Did she sing?", "With Ann Ray.")

    assert "Mary Lee" in having("known", document("Was she good?", *said))
    assert "Ann Ray" not in having("known", document("Was she good?", *said))
    assert having("known", document("Was it good?", *said)) == set()
    assert "Ann Ray" in having("new", document("Was it good?", *said))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Who?", "Bob did."), ("Who is Bob?", "No one did.")),
        (("Who?", "Bob did."), ("Who?", "Bob did.", "And?", "No.")),
        (("Who?", "Bob did."), ("Who?", "Bob, Bob did.")),
        (("Who?", "Bob did."), ("Who?", "Bob did, with Ann.")),
        (("Who?", "Bob did."), ("Who?", "It was Bob.")),
    ],
)
def test_when_where_and_how_often_something_was_said_is_told(one, other):
    assert not np.array_equal(
        told("Bob", document("Did he?", *one)), told("Bob", document("Did he?", *other))
    )


def test_what_a_candidates_sentence_shares_with_the_question_is_told():
    sang = told("Bob", document("Who sang?", "Who?", "Bob sang. Tom left."))
    left = told("Bob", document("Who sang?", "Who?", "Bob left. Tom sang."))

    assert np.flatnonzero(sang != left).size > 0


def test_what_a_title_notes_is_told_of_every_mention():
    song, plain = (
        describe(look_at(document("Did she like it?", title=title))).mentions
        for title in ("Blue Moon (song)", "Blue Moon")
    )

    assert (song != plain).any(axis=1).all()


def test_a_batch_does_not_change_what_is_told():
    """What is remembered of an utterance serves every document alike."""
    before = [describe(look_at(doc)) for doc in DOCUMENTS]
    again = [describe(look_at(doc)) for doc in reversed(DOCUMENTS)][::-1]

    for one, other in zip(before, again, strict=True):
        assert np.array_equal(one.mentions, other.mentions)
        assert np.array_equal(one.candidates, other.candidates)
        assert np.array_equal(one.fits, other.fits)
