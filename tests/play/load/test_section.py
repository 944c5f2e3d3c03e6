"""
What a load section may say together, and what it means where it says nothing.

Which conversations are played: draws that every process makes alike.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest
from pydantic import ValidationError
from scipy.stats import chisquare

from replay.core.conversation import Conversation, Turn
from replay.play.load.section import LoadSection, SweepSection, draw
from tests.data_tables import from_table


@from_table
def test_what_does_not_go_together_is_said(said, fault):
    with pytest.raises(ValidationError, match=re.escape(fault)):
        LoadSection.model_validate(said)


@from_table
def test_what_goes_together_is_taken(said):
    assert LoadSection.model_validate(said).open == (said.get("profile", "closed") != "closed")


@from_table
def test_numbers_have_their_ranges(key, taken, refused):
    rest = {"turns": 1, "concurrency": 64}
    if key == "speed":
        rest |= {"profile": "recorded"}
    if taken is not None:
        assert getattr(LoadSection.model_validate({**rest, key: taken}), key) == taken
    with pytest.raises(ValidationError, match=key):
        LoadSection.model_validate({**rest, key: refused})


@pytest.mark.parametrize(
    ("key", "taken", "refused"),
    [("resolution", 0.01, 0), ("resolution", 0.99, 1), ("confirm", 1, 0), ("confirm", 5, 6), ("low", 0.5, 0)],
)
def test_a_sweeps_numbers_have_their_ranges(key, taken, refused):
    said = {"low": 0.5, "high": 2}
    assert getattr(SweepSection.model_validate({**said, key: taken}), key) == taken
    with pytest.raises(ValidationError, match=key):
        SweepSection.model_validate({**said, key: refused})


UNLIKELY = 1e-3
"""A test of a law fails below this p-value. Seeds are fixed, so none fails by chance; none was chosen."""


def some(*ids: str) -> list[Conversation]:
    return [Conversation(id=name, turns=(Turn(id="1", question="Hello?"),)) for name in ids]


def drawn(conversations, order, seed=0, count=100):
    return [conversation.id for conversation in islice(draw(conversations, order, seed), count)]


def test_in_order_means_the_datas_order_again_and_again():
    assert drawn(some("a", "b"), "sequential", count=5) == ["a", "b", "a", "b", "a"]


def test_every_shuffled_round_holds_each_conversation_once_and_rounds_differ():
    conversations = some(*map(str, range(10)))
    found = drawn(conversations, "shuffle", count=50)

    rounds = [found[at : at + 10] for at in range(0, 50, 10)]
    assert all(sorted(ids) == sorted(map(str, range(10))) for ids in rounds)
    assert len(set(map(tuple, rounds))) == 5


def test_a_shuffle_gives_every_conversation_every_position_alike():
    """Chi-square test with fixed seeds, so that it can't fail by chance."""
    positions = Counter(
        entry
        for seed in range(2000)
        for entry in enumerate(drawn(some("a", "b", "c"), "shuffle", seed, count=3))
    )
    assert len(positions) == 9
    assert chisquare(list(positions.values())).pvalue > UNLIKELY


def test_samples_are_uniform_and_each_independent_of_the_one_before():
    ids = drawn(some("a", "b", "c", "d"), "sample", seed=3, count=8000)

    assert chisquare(list(Counter(ids).values())).pvalue > UNLIKELY
    pairs = Counter(zip(ids[::2], ids[1::2], strict=True))
    assert len(pairs) == 16
    assert chisquare(list(pairs.values())).pvalue > UNLIKELY


@pytest.mark.parametrize("order", ["shuffle", "sample"])
def test_another_process_draws_the_same_and_another_seed_something_else(order):
    conversations = some(*map(str, range(50)))
    program = (
        "from itertools import islice\n"
        "from replay.core.conversation import Conversation\n"
        "from replay.play.load.section import draw\n"
        "data = [Conversation(id=str(n), turns=()) for n in range(50)]\n"
        f"print(*(d.id for d in islice(draw(data, {order!r}, 5), 200)))"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    here = drawn(conversations, order, seed=5, count=200)
    assert other.stdout.split() == here
    assert here != drawn(conversations, order, seed=6, count=200)
