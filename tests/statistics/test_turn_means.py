"""Plays of a turn count as one where two sides are compared."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.comparison import ComparisonSettings, ComparisonSide, compare_sides
from replay.statistics.paired import policy_gaps
from replay.statistics.score_column import ScoreColumn
from tests.statistics.repeated import FAILED, played

BEFORE = ([[1, 1]], [[1, 0]], [[0, 0]], [[1, 1]], [[0, 1]], [[1, 0]])
AFTER = ([[1, 1]], [[1, 1]], [[0, 1]], [[1, 1]], [[0, 1]], [[0, 0]])


def side(*conversations, of=lambda column: column) -> ComparisonSide:
    records, scores = played(*conversations)
    return ComparisonSide(records=records, scores={"check": of(scores["check"])})


def compared(first, second):
    (found,) = compare_sides(first, second, ["check"], ComparisonSettings(by_depth=True))
    return found


def times(count, conversations):
    return [plays * count for plays in conversations]


def as_ratio(column: ScoreColumn) -> ScoreColumn:
    """The same as a ratio of sums, which is no mean of turns."""
    scorer = StoredScorer(signature="ratio", unit="share", lower_is_better=False, combined="ratio")
    return ScoreColumn(scorer=scorer, observed=[[value, 1] for value in column.observed])


@pytest.mark.parametrize("of", [lambda column: column, as_ratio])
def test_the_same_plays_once_more_make_nothing_surer(of):
    once = compared(side(*BEFORE, of=of), side(*AFTER, of=of))
    twice = compared(side(*times(2, BEFORE), of=of), side(*times(2, AFTER), of=of))
    for few, many in zip(once.rows, twice.rows, strict=True):
        assert many.difference.value == pytest.approx(few.difference.value)
        assert (many.difference.low, many.difference.high) == (few.difference.low, few.difference.high)
        assert many.difference.conversations == few.difference.conversations
        assert many.test.p == few.test.p


def test_sides_with_unlike_numbers_of_plays_are_compared_on_all_of_them():
    found = compared(side([[1], [0], [0]], [[1], [1], [1]]), side([[1]], [[1]]))
    assert found.total.first == pytest.approx((1 / 3 + 1) / 2)
    assert found.total.second == 1
    assert (found.total.difference.turns, found.one_sided) == (2, 0)


def test_a_turn_weighs_the_same_however_often_it_failed():
    found = compared(side([[1], [FAILED], [FAILED]], [[0], [0], [0]]), side([[1]], [[1]]))
    assert found.total.first == 0.5


def test_a_flipped_turn_shows_an_answer_that_goes_with_its_number():
    first, second = side([[0], [1], [1]], [[1], [1], [1]]), side([[1], [0], [0]], [[1], [1], [1]])
    for one in (first, second):
        one.records[:] = [
            replace(record, answer=f"answer {value}")
            for record, value in zip(one.records, one.scores["check"].observed, strict=True)
        ]
    (flip,) = compared(first, second).flips
    assert (flip.conversation, flip.first, flip.second) == ("c0", pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (flip.first_answer, flip.second_answer) == ("answer 1", "answer 0")


def test_policies_of_one_run_are_paired_alike():
    records, scores = played([[1], [0]], [[1], [1]], [[0], [0]])
    gold = [replace(record, policy="gold") for record in records]
    observed = [*scores["check"].observed, *([1] * len(gold))]
    column = ScoreColumn(scorer=scores["check"].scorer, observed=observed)
    (gap,) = policy_gaps([*records, *gold], {"check": column})
    assert gap.total.value == pytest.approx(0.5 - 1)
    assert (gap.total.turns, gap.total.conversations) == (3, 3)
