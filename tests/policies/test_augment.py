"""
The three ways of augmenting a question.

What of a gold answer is put before the next question.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from replay.core.errors import RewriteError, ScenarioError
from replay.core.settings.plugins import build, load
from replay.policies.augment import AugmentPolicy, lead_in
from tests.data_tables import from_table
from tests.samples import ALBUM, ALICE, SINGER, Fake, conversation, detector, play

ASTRAY = ("Nobody.", "Nowhere.", "Nothing.", "No.")


@from_table
async def test_modes(mode, asked):
    async with detector(resolver=ALICE) as drift:
        policy = AugmentPolicy(detector=drift, mode=mode)
        records = await play(Fake(*ASTRAY), policy, SINGER)
    assert [r.asked for r in records][:2] == asked
    assert [r.edit for r in records][:2] == ["kept", "augmented"]
    assert f"mode:{mode}" in policy.signature
    assert ("prefix_words:15" in policy.signature) == (mode != "resolve")
    assert ("coref:" in policy.signature) == (mode != "prefix")


@pytest.mark.parametrize("unknown", [None, "CANNOTANSWER"])
async def test_an_unknown_answer_gives_no_prefix(unknown):
    talk = conversation(("Who sang it?", unknown), ("Why?", "Because."))
    async with detector(resolver=ALICE) as drift:
        records = await play(Fake("a", "b"), AugmentPolicy(detector=drift, mode="prefix"), talk)
    assert (records[1].asked, records[1].edit) == ("Why?", "kept")


async def test_a_prefix_needs_no_resolver():
    async with detector(resolver=ALICE) as drift:
        await play(Fake(*ASTRAY), AugmentPolicy(detector=drift, mode="prefix"), ALBUM)
        assert drift.service.resolved == 0


class Broken:
    signature = "broken"

    async def rewrite(self, request):
        raise RewriteError("no luck")


async def test_a_failed_rewriting_asks_the_question_as_recorded():
    async with detector(resolver=ALICE) as drift:
        policy = AugmentPolicy(detector=drift, mode="both", rewriter=Broken())
        records = await play(Fake(*ASTRAY), policy, ALBUM)
    assert [(r.asked, r.edit, r.edit_note) for r in records] == [
        (t.question, "rewrite-failed", "no luck") for t in ALBUM.turns
    ]


def test_prefix_words_have_to_be_some():
    with pytest.raises(ScenarioError, match="prefix_words: 0 is not"):
        build(
            load("policies", "augment", Path()),
            {"prefix_words": 0},
            provided={"detector": None},
            folder=Path(),
        )


@from_table
def test_a_short_clause(answer, expected):
    assert lead_in(answer, 12) == expected


def test_what_has_no_end_of_a_clause_is_broken_off_with_dots():
    assert lead_in("a list of the names of many old friends", 5) == "A list of the names ... "


@pytest.mark.parametrize(
    "answer",
    [None, "", "  ", "CANNOTANSWER", "I don't know.", "Unknown", "Yes.", "No, she did not.", "?!", "n/a"],
)
def test_nothing_comes_from_an_answer_that_says_nothing(answer):
    assert lead_in(answer, 12) == ""


@given(st.text(max_size=200), st.integers(1, 20))
def test_never_more_words_than_asked_for(answer, most):
    text = lead_in(answer, most)
    assert len(text.replace(" ... ", " ").split()) <= most
    assert "\n" not in text
    assert not text or text.endswith(" ")
