"""The share of an answer that was said before."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.scorer import Unscored, lower_is_better
from replay.scorers.word_overlap import EARLIER_MISSING, NO_WORDS, repetition
from replay.testing import ScorerContract
from tests.scorers.turns import turn

TIMED_OUT = Unscored(reason="not answered: timed-out")


def talk(*answers, **changes):
    """The turns of one conversation."""
    return [turn(answer, depth=depth, **changes) for depth, answer in enumerate(answers, 1)]


class TestRepetitionKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return repetition()

    @pytest.fixture
    def records(self):
        """Each the first turn of a conversation: a later one's score is not its own alone."""
        answers = ("ha ha ha ha ha", "It left on Monday.", None, "")
        return [turn(answer, conversation=f"c{number}") for number, answer in enumerate(answers)]

    def test_an_observation_does_not_depend_on_system_or_policy(self):
        some, others = talk("a b c d", "a b c d e"), talk("a b c d", "a b c d e", system="s", policy="gold")
        assert repetition().observe(some) == repetition().observe(others)


@pytest.mark.parametrize(
    ("answers", "shares"),
    [
        (("It left on Monday.", "It left on MONDAY!"), [0, 1]),
        (("It left on Monday.", "Yes, it left on Monday."), [0, 1 / 2]),
        (("It left on Monday.", "On Monday it left."), [0, 0]),
        (("I don't know.", "I don't know.", "I know."), [0, 1, 0]),
        (("go on and go on and go on and",), [3 / 6]),
        (("北京是中国的首都", "北京是中国的城市"), [0, 3 / 5]),
        (
            ("It left on Monday.", None, "It left on Monday."),
            [0, Unscored(reason="not answered: timed-out"), 1],
        ),
        (("...", "..."), [NO_WORDS, NO_WORDS]),
    ],
)
def test_runs_of_words_that_were_said_before_are_counted(answers, shares):
    assert repetition().observe(talk(*answers)) == [
        share if isinstance(share, Unscored) else pytest.approx(share) for share in shares
    ]


def test_only_the_same_play_counts():
    turns = [*talk("It left on Monday."), *talk("It left on Monday.", system="other")]
    assert repetition().observe(turns) == [0, 0]


def test_without_the_turns_before_there_is_no_number():
    assert repetition().observe(talk("It left on Monday.", "So it did.")[1:]) == [EARLIER_MISSING]


@given(st.lists(st.text(), max_size=6), st.randoms())
def test_the_order_of_the_records_plays_no_part(answers, random):
    turns = talk(*answers)
    shuffled = random.sample(turns, len(turns))
    found = dict(zip((one.depth for one in shuffled), repetition().observe(shuffled), strict=True))
    assert [found[one.depth] for one in turns] == repetition().observe(turns)
    assert all(isinstance(share, Unscored) or 0 <= share <= 1 for share in found.values())


def test_less_is_better_and_the_length_is_signed():
    assert lower_is_better(repetition())
    assert repetition().signature == "repetition:plain+cjk|runs:4|earlier-answers+own"
    assert repetition(length=2).signature == "repetition:plain+cjk|runs:2|earlier-answers+own"
    assert repetition(length=2).observe(talk("a b", "a b c")) == [0, 1 / 2]
    with pytest.raises(ValueError, match="length: 0 is not a positive whole number"):
        repetition(length=0)
