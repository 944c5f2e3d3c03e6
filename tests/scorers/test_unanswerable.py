from __future__ import annotations

import math

import pytest

from replay.scorers.scorer import Unscored
from replay.scorers.unanswerable import (
    unanswerable_f1,
    unanswerable_gold_share,
    unanswerable_precision,
    unanswerable_recall,
    unanswerable_share,
)
from replay.testing import ScorerContract
from tests.scorers.turns import turn

DETECTION = [unanswerable_precision(), unanswerable_recall(), unanswerable_f1()]
NONE = "CANNOTANSWER"


class TestUnanswerableScorersKeepTheContract(ScorerContract):
    @pytest.fixture(
        params=[*DETECTION, unanswerable_share(), unanswerable_gold_share()],
        ids=lambda scorer: scorer.signature.split(":")[0],
    )
    def scorer(self, request):
        return request.param


EXAMPLE = [
    turn(NONE, NONE),
    turn("I don't know.", NONE, "Rome"),
    turn("i DON’T know", "Rome"),
    turn("Rome", NONE),
    turn("Paris", NONE),
    turn("Paris", "Rome"),
    turn("Rome"),
]
"""Three declined, two of them rightly; four that had to be; one without a reference."""


@pytest.mark.parametrize(("scorer", "value"), [*zip(DETECTION, (2 / 3, 2 / 4, 4 / 7), strict=True)])
def test_the_worked_example(scorer, value):
    scored = [one for one in scorer.observe(EXAMPLE) if not isinstance(one, Unscored)]

    assert scorer.combine(scored) == pytest.approx(value)
    assert scorer.observe(EXAMPLE)[-1] == Unscored(reason="no gold answer")


def test_shares_are_over_the_same_turns():
    said, wanted = (s.observe(EXAMPLE) for s in (unanswerable_share(), unanswerable_gold_share()))

    assert unanswerable_share().combine(said[:-1]) == 3 / 6
    assert unanswerable_gold_share().combine(wanted[:-1]) == 4 / 6
    assert said[-1] == wanted[-1] == Unscored(reason="no gold answer")


@pytest.mark.parametrize(
    ("scorer", "defined", "undefined"),
    [
        (DETECTION[0], [[1, 0]], [[0, 1], [0, 0]]),
        (DETECTION[1], [[0, 1]], [[1, 0], [0, 0]]),
        (DETECTION[2], [[0, 1]], [[0, 0]]),
    ],
)
def test_a_share_of_nothing_is_not_defined(scorer, defined, undefined):
    assert scorer.combine(defined) == 0
    assert math.isnan(scorer.combine(undefined))


def test_patterns_are_for_systems_that_answer_freely():
    patterns = (r"(sorry|unfortunately)\b.*", r".*\bno information\b.*")
    turns = [turn("Sorry, I can't say.", NONE), turn("There is no information on that.", NONE)]

    assert unanswerable_share().observe(turns) == [0.0, 0.0]
    assert unanswerable_share(declining=patterns).observe(turns) == [1.0, 1.0]
    assert unanswerable_f1(declining=patterns).signature != unanswerable_f1().signature


def test_the_signatures():
    assert unanswerable_precision().signature == "unanswerable_precision:quac|declining:default"
    assert unanswerable_gold_share().signature == "unanswerable_gold_share:quac|declining:default"
