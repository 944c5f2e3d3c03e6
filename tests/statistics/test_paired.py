from __future__ import annotations

import json

import pytest

from replay.scorers.word_overlap import f1
from replay.statistics.group import Group
from replay.statistics.paired import policy_gaps
from replay.statistics.score_column import score_columns
from tests.scorers.turns import skipped_turn, turn
from tests.statistics.spread import LongestAnswer

GOLD = Group("s", "gold")


def answers(policy, by_conversation, **changes):
    return [
        turn(answer, "Paris", depth=depth, conversation=conversation, policy=policy, **changes)
        for conversation, given in by_conversation.items()
        for depth, answer in enumerate(given, 1)
    ]


RECORDS = [
    *answers("gold", {"c1": ["Paris", "Paris", "Paris"], "c2": ["Paris", "Rome"]}),
    *answers("pred", {"c1": ["Paris", "Rome"], "c2": ["Rome", None]}),
]


def difference(records, scorer=None, **settings):
    columns = score_columns(records, {"f1": scorer or f1()})
    (found,) = policy_gaps(records, columns, **settings)
    return found


def test_a_difference_by_hand():
    """Depth 3 and c2's depth 2 have a score on one side only."""
    found = difference(RECORDS, method="percentile")

    assert [(row.depth, row.turns, row.value) for row in found.depths] == [(1, 2, -1 / 2), (2, 1, -1.0)]
    assert (found.total.turns, found.total.conversations) == (3, 2)
    assert found.total.value == pytest.approx(-2 / 3)
    assert (found.total.low, found.total.high) == (-1.0, -0.5)  # all turns from c2, or from c1
    assert (found.depths[1].low, found.depths[1].high) == (None, None)
    assert found.unpaired == 2


def test_equal_answers_differ_by_nothing_however_different_the_conversations():
    spread = {f"c{n}": ["Paris" if n % 2 else "Rome"] for n in range(10)}
    found = difference([*answers("gold", spread), *answers("pred", spread)]).total

    assert (found.value, found.no_interval) == (0, "every conversation gives the same value")


def test_the_other_way_round_the_sign_changes():
    back = difference(RECORDS, baseline="pred").total
    there = difference(RECORDS).total

    assert (back.value, back.low, back.high) == (-there.value, -there.high, -there.low)


def test_a_score_that_is_no_mean_is_compared_too():
    records = [*answers("gold", {"c1": ["xx"], "c2": ["x"]}), *answers("pred", {"c1": ["xxx"], "c2": ["x"]})]
    found = difference(records, LongestAnswer(), method="percentile").total

    assert (found.value, found.low, found.high) == (1, 0, 1)


def test_the_order_of_records_does_not_matter():
    assert difference(RECORDS) == difference(RECORDS[::-1])


def test_without_common_turns_there_is_no_difference():
    found = difference([*answers("gold", {"c1": ["Paris"]}), skipped_turn("Paris", policy="pred")])

    assert (found.depths, found.total.value, found.total.low, found.unpaired) == ((), None, None, 1)


def test_gaps_are_against_the_same_systems_gold():
    other = answers("gold", {"c1": ["Rome"]}, system="t")
    lone = answers("pred", {"c1": ["Rome"]}, system="u")
    records = [*RECORDS, *other, *answers("rewrite", {"c1": ["Paris"]}), *lone]
    gaps = policy_gaps(records, score_columns(records, {"f1": f1(), "long": LongestAnswer()}))

    assert [(str(gap.second), gap.score) for gap in gaps] == [
        ("s, pred", "f1"), ("s, pred", "long"), ("s, rewrite", "f1"), ("s, rewrite", "long")
    ]  # fmt: skip
    assert all(gap.first == GOLD for gap in gaps)
    assert gaps[0].total == difference(RECORDS).total
    json.dumps([gap.to_json() for gap in gaps], allow_nan=False)
