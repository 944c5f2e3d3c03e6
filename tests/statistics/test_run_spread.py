from __future__ import annotations

import json

import pytest

from replay.scorers.token_f1 import f1
from replay.statistics.depth_table import depth_table
from replay.statistics.run_spread import run_spread, same_answers
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn

RUNS = [
    [turn(answer, "Paris", depth=depth) for depth, answer in enumerate(answers, 1)]
    for answers in (["Paris", "Paris"], ["Paris", "Rome"], ["Paris", None])
]


def tables():
    return [
        depth_table(records, score_columns(records, {"f1": f1()}), {"c1": 2}, resamples=0) for records in RUNS
    ]


def test_the_spread_of_three_runs_by_hand():
    """Means 1, 1/2 and 1 (over one turn): mean 5/6, squared deviations 1/6, over 2."""
    (row,) = run_spread(tables())

    assert row.values == (1.0, 0.5, 1.0)
    assert row.turns == (2, 2, 1)
    assert row.mean == pytest.approx(5 / 6)
    assert row.deviation == pytest.approx((1 / 12) ** 0.5)
    assert json.loads(json.dumps(row.to_json()))["least"] == 0.5


def test_by_depth_a_run_may_lack_a_number():
    first, second, total = run_spread(tables(), by_depth=True)

    assert (first.depth, first.values, first.deviation) == (1, (1.0, 1.0, 1.0), 0)
    assert (second.depth, second.values, second.mean) == (2, (1.0, 0.0, None), 0.5)
    assert total.depth is None


def test_answers_are_compared_where_every_run_has_one():
    (found,) = same_answers(RUNS)

    assert (found.turns, found.same) == (1, 1)
    (found,) = same_answers(RUNS[:2])
    assert (found.turns, found.same) == (2, 1)
