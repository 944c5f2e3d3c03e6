from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from msgspec.structs import replace

from replay.scorers.operational import latency
from replay.scorers.word_overlap import f1
from replay.statistics.comparison import (
    ComparisonSettings,
    ComparisonSide,
    bootstrap_p,
    compare_sides,
    correct_comparisons,
)
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn
from tests.statistics.spread import LongestAnswer


def compared(first, second, scores=("f1",), *, by_depth=True, **settings):
    return compare_sides(first, second, scores, ComparisonSettings(by_depth=by_depth, **settings))


def side(by_conversation, scorers=None, **changes):
    records = [
        turn(answer, "Paris", depth=depth, conversation=conversation, **changes)
        for conversation, answers in by_conversation.items()
        for depth, answer in enumerate(answers, 1)
    ]
    return ComparisonSide(records=records, scores=score_columns(records, scorers or {"f1": f1()}))


FIRST = side({"c1": ["Paris", "Rome"], "c2": ["Rome", "Rome"], "c3": ["Rome"], "c4": ["Paris"]})
SECOND = side(
    {"c1": ["Paris", "Paris"], "c2": ["Paris", "Paris"], "c3": [None], "c5": ["Paris"]}, policy="gold"
)


def test_a_comparison_by_hand():
    """Of c1 and c2 four turns are common: 1/4 against 4/4, differences 1 and 2, p = 2/4."""
    (found,) = compared(FIRST, SECOND)
    total = found.total

    assert (total.first, total.second, total.difference.value) == (0.25, 1.0, 0.75)
    assert -1 < total.difference.low < 0.75 < total.difference.high < 1  # of two conversations
    assert (total.difference.turns, total.difference.conversations) == (4, 2)
    assert (total.test.p, total.test.exact) == (0.5, True)
    assert total.bootstrap_p < 0.01
    assert (found.one_sided, found.unlike) == (3, 0)
    assert [row.difference.value for row in found.rows] == [0.5, 1.0, 0.75]


def test_conversations_without_recorded_questions_are_compared_whole():
    """By hand: c1 has 1/2 against 1, c2 1 against 0; turns at one depth have nothing in common."""
    first = side({"c1": ["Rome", "Paris"], "c2": ["Paris"]}, edit="simulated")
    second = side({"c1": ["Paris"] * 3, "c2": ["Rome", "Rome"]}, edit="simulated")
    (found,) = compared(first, second)
    assert [(row.difference.depth, row.difference.turns) for row in found.rows] == [(None, 2)]
    assert (found.total.first, found.total.second, found.total.difference.value) == (0.75, 0.5, -0.25)
    assert (found.one_sided, found.unlike) == (0, 0)


def test_turns_that_flipped_are_told_with_both_answers():
    (found,) = compared(FIRST, SECOND)

    assert [(flip.conversation, flip.depth, flip.first, flip.second) for flip in found.flips] == [
        ("c1", 2, 0, 1), ("c2", 1, 0, 1), ("c2", 2, 0, 1)
    ]  # fmt: skip
    assert (found.flips[0].first_answer, found.flips[0].second_answer) == ("Rome", "Paris")
    (none,) = compared(FIRST, SECOND, flip_at=0.0)
    assert none.flips == ()


def test_the_same_question_with_other_gold_answers_is_not_the_same_turn():
    changed = [replace(r, gold_answers=("Bern",)) if r.depth == 2 else r for r in SECOND.records]
    second = ComparisonSide(records=changed, scores=score_columns(changed, {"f1": f1()}))
    (found,) = compared(FIRST, second)

    assert (found.unlike, found.total.difference.turns, found.one_sided) == (2, 2, 3)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_order_of_records_does_not_matter(method):
    first, second = (
        ComparisonSide(
            records=list(s.records)[::-1], scores=score_columns(list(s.records)[::-1], {"f1": f1()})
        )
        for s in (FIRST, SECOND)
    )
    assert compared(first, second, method=method) == compared(FIRST, SECOND, method=method)


def test_the_other_way_round_the_sign_changes_and_the_p_value_stays():
    (there,), (back,) = compared(FIRST, SECOND), compared(SECOND, FIRST)

    assert back.total.difference.value == -there.total.difference.value
    assert back.total.test == there.total.test


def test_totals_are_corrected_alike_whether_depths_are_shown_or_not():
    """Each family for itself: two totals and, beside them, their depths."""
    both = {"f1": f1(), "long": LongestAnswer()}
    first = side({"c1": ["Paris", "Rome"], "c2": ["Rome", "Rome"]}, both)
    second = side({"c1": ["Paris", "Paris"], "c2": ["Paris", "Paris"]}, both)
    shallow = correct_comparisons(compared(first, second, ["f1", "long"], by_depth=False))
    deep = correct_comparisons(compared(first, second, ["f1", "long"]))

    assert [len(one.rows) for one in shallow] == [1, 1]
    assert shallow[0].total.adjusted_p == min(1, 2 * 0.5)
    assert [one.total.adjusted_p for one in deep] == [one.total.adjusted_p for one in shallow]
    assert all(
        row.adjusted_p is not None and row.adjusted_p >= row.test.p for one in deep for row in one.rows
    )
    assert shallow[1].flips is None
    json.dumps([one.to_json() for one in deep], allow_nan=False)


def test_holm_by_hand():
    """
    Of the depths, .005, .01, .03, .04 times 4, 3, 2, 1 give .02, .03, .06, .04, which never falls; the total
    is the only one of its family.
    """
    (found,) = compared(FIRST, SECOND)
    total = found.total

    def row(p, depth):
        test = p and dataclasses.replace(total.test, p=p)
        return dataclasses.replace(
            total, test=test, difference=dataclasses.replace(total.difference, depth=depth)
        )

    depths = [row(p, depth) for depth, p in enumerate((0.01, None, 0.04, 0.03, 0.005), 1)]
    (adjusted,) = correct_comparisons([dataclasses.replace(found, rows=(*depths, row(0.02, None)))])

    assert [one.adjusted_p for one in adjusted.rows] == [
        pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06), pytest.approx(0.02), 0.02
    ]  # fmt: skip


def test_sides_without_a_common_turn_have_no_difference_and_no_p_value():
    (found,) = correct_comparisons(compared(side({"c1": ["Paris"]}), side({"c2": ["Paris"]})))

    assert (found.total.first, found.total.test, found.total.adjusted_p) == (None, None, None)
    assert found.one_sided == 2


def test_a_comparison_is_told_in_full():
    (found,) = correct_comparisons(compared(FIRST, SECOND, by_depth=False))
    (row,) = found.rows
    flip = {"conversation": "c1", "depth": 2, "recorded": "Why?", "first": 0.0, "second": 1.0}

    assert found.percent
    assert found.flips[0].to_json() == {**flip, "first_answer": "Rome", "second_answer": "Paris"}
    assert found.to_json() == {
        "score": "f1",
        "unit": "share",
        "lower_is_better": False,
        "one_sided": 3,
        "unlike": 0,
        "rows": [
            {
                "depth": None,
                "turns": 4,
                "conversations": 2,
                "value": 0.75,
                "low": row.difference.low,
                "high": row.difference.high,
                "no_interval": None,
                "first": 0.25,
                "second": 1.0,
                "p": 0.5,
                "p_holm": 0.5,
                "p_bootstrap": row.bootstrap_p,
                "permutations": 4,
                "exact": True,
                "differing_conversations": 2,
            }
        ],
        "flips": [flip.to_json() for flip in found.flips],
    }
    (none,) = compared(side({"c1": ["Paris"]}), side({"c2": ["Paris"]}), by_depth=False)
    plain = none.to_json()["rows"][0]
    assert [plain[name] for name in ("p", "exact", "permutations", "p_bootstrap", "first")] == [None] * 5


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0] * 9, 2 * 1 / 10),
        ([-1.0] * 9, 2 * 1 / 10),
        ([1.0, 2.0, 3.0, -1.0], 2 * 2 / 5),
        ([1.0, 1.0, 1.0, 0.0, math.nan], 2 * 2 / 5),
        ([1.0, 1.0, 1.0, 1e-13, -1e-13, 1.0], 2 * 3 / 7),
        ([1.0, -1.0], 1.0),
        ([math.nan], None),
    ],
)
def test_the_bootstraps_p_value_by_hand(differences, p):
    """Twice the smaller side and one more; a difference of rounding lies on both sides."""
    assert bootstrap_p(np.array(differences)) == (None if p is None else pytest.approx(p))


def test_one_conversation_alone_has_a_value_and_neither_interval_nor_bootstrap():
    (found,) = compared(side({"c1": ["Rome"]}), side({"c1": ["Paris"]}), by_depth=False)

    assert (found.total.difference.value, found.total.bootstrap_p, found.total.difference.low) == (
        1,
        None,
        None,
    )
    assert found.total.test.p == 1.0


def test_a_score_at_the_threshold_is_right():
    first, second = side({"c1": ["Rome"]}), side({"c1": ["Paris"]})
    both = side({"c1": ["Paris"]})

    (flipped,) = compared(first, second, flip_at=1.0)
    (kept,) = compared(both, second, flip_at=1.0)
    assert (len(flipped.flips), len(kept.flips)) == (1, 0)


def test_a_mean_that_is_no_share_has_no_flips():
    timed = {"latency": latency()}
    (found,) = compared(side({"c1": ["Paris"]}, timed), side({"c1": ["Paris"]}, timed), ["latency"])

    assert (found.flips, found.unit, found.percent) == (None, "s", False)


def test_a_question_that_was_put_otherwise_is_another_turn():
    changed = [replace(r, recorded="Where?") if r.depth == 2 else r for r in SECOND.records]
    (found,) = compared(FIRST, ComparisonSide(records=changed, scores=score_columns(changed, {"f1": f1()})))

    assert (found.unlike, found.total.difference.turns) == (2, 2)
