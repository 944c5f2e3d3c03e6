"""pass^k, pass@k and the spread between plays of the same conversations."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from replay.statistics.depth_table import depth_table
from replay.statistics.pass_curves import outcomes, pass_all, pass_any, says_yes_or_no
from replay.statistics.repeats import repeat_numbers
from tests.statistics.repeated import FAILED, column, played


def curves(times, *conversations, **more):
    records, scores = played(*conversations)
    found = repeat_numbers(records, scores, times, resamples=0, **more)
    return {curve.label: curve for curve in found.curves}


def values(estimates):
    return [one.value for one in estimates]


# The estimates ---------------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_both_are_the_share_of_all_choices_of_k_plays(plays, data):
    """What makes them unbiased: each choice of k of the n plays is as good as any other."""
    k = data.draw(st.integers(1, len(plays)))
    chosen = list(combinations(plays, k))
    every, some = (Fraction(sum(map(one, chosen)), len(chosen)) for one in (all, any))
    assert pass_all(sum(plays), len(plays), k) == pytest.approx(float(every))
    assert pass_any(sum(plays), len(plays), k) == pytest.approx(float(some))


def test_published_values():
    """Chen et al. (2021), figure 3's program on n = 10, c = 3, k = 5: 1 - prod(1 - 5 / arange(8, 11))."""
    assert pass_any(3, 10, 5) == pytest.approx(1 - np.prod(1 - 5 / np.arange(8, 11)))
    assert pass_all(3, 10, 2) == pytest.approx(3 / 45)  # Yao et al. (2024): C(3, 2) / C(10, 2)


def test_by_depth_over_all_turns_and_of_whole_conversations():
    found = curves(
        2,
        [[1, 1], [1, 0]],
        [[1, 0], [1, 1]],
        [[1, 1], [1, 1]],
        [[0, 0], [0, 0]],
    )
    assert list(found) == ["depth 1", "depth 2", "all turns", "conversations"]
    assert values(found["depth 1"].passes_all) == [3 / 4, 3 / 4]
    assert values(found["depth 2"].passes_all) == [2 / 4, 1 / 4]
    assert values(found["depth 2"].passes_any) == [2 / 4, 3 / 4]
    assert values(found["all turns"].passes_all) == [5 / 8, 4 / 8]
    assert values(found["conversations"].passes_all) == [2 / 4, 1 / 4]
    assert values(found["conversations"].passes_any) == [2 / 4, 3 / 4]
    assert {name: curve.cases for name, curve in found.items()} == {
        "depth 1": 4,
        "depth 2": 4,
        "all turns": 8,
        "conversations": 4,
    }


def test_of_plays_without_recorded_questions_only_whole_conversations_count():
    """One is judged at its end, wherever that is: here after one turn, three, and two."""
    records, scores = played([[1], [FAILED, FAILED, 1], [FAILED, 0]], [[1], [1], [FAILED, 1]])
    talks = [replace(one, edit="simulated", outcome="answered") for one in records]
    (found,) = repeat_numbers(talks, scores, 3, resamples=0).curves
    assert (found.label, found.cases, found.incomplete) == ("conversations", 2, 0)
    assert values(found.passes_all) == pytest.approx([(2 / 3 + 1) / 2, (1 / 3 + 1) / 2, 1 / 2])


# What is missing -------------------------------------------------------------------------------------------


def test_a_play_without_a_score_is_neither_passed_nor_missed():
    found = curves(3, [[1], [FAILED], [1]], [[1], [1], [0]])["depth 1"]
    assert values(found.passes_all) == pytest.approx([(1 + 2 / 3) / 2, (1 + 1 / 3) / 2, 0])
    assert [one.scored for one in found.passes_all] == [2, 2, 1]
    assert found.passes_all[2].unscored == {"fewer than 3 plays have a score": 1}
    assert (found.cases, found.incomplete) == (2, 1)


def test_a_turn_that_was_never_reached_is_as_one_that_failed():
    found = curves(2, [[1, 1], [1]], [[1, 1], [1, 1]])
    assert values(found["depth 2"].passes_all) == [1, 1]
    assert [one.scored for one in found["depth 2"].passes_all] == [2, 1]


def test_a_conversation_counts_in_the_plays_that_have_every_score_be_there_a_miss_or_not():
    """Else plays with a miss would count and those without would not, and the number would be too low."""
    found = curves(3, [[1, 1], [0, FAILED], [1, FAILED]])["conversations"]
    assert values(found.passes_all) == [1, None, None]
    assert found.incomplete == 1
    assert curves(1, [[0, 1]], [[1, 1]])["conversations"].passes_all[0].value == 0.5


def test_a_turn_without_a_score_in_any_play_is_not_asked_of_the_conversation():
    """As one whose gold answer nobody knows."""
    found = curves(2, [[1, FAILED], [1, FAILED]])
    assert values(found["conversations"].passes_all) == [1, 1]
    assert "depth 2" not in found


def test_where_no_play_of_a_conversation_is_whole_it_has_no_number():
    found = curves(2, [[1, FAILED], [FAILED, 1]])["conversations"]
    assert values(found.passes_all) == [None, None]
    assert found.passes_all[0].unscored == {"no play has all scores": 1}


# Which scores ----------------------------------------------------------------------------------------------


def test_only_scores_that_are_0_or_1_and_better_at_1():
    assert says_yes_or_no(column([0, 1, True, FAILED]))
    assert says_yes_or_no(column([1.0, 0.0]))
    assert not says_yes_or_no(column([0, 0.5]))
    assert not says_yes_or_no(column([0, 1], unit="s"))
    assert not says_yes_or_no(column([0, 1], lower_is_better=True))
    assert not says_yes_or_no(column([FAILED]))


# Intervals and spread --------------------------------------------------------------------------------------


def test_plays_are_no_witnesses_of_their_own():
    """Each play once more under the same conversation: nothing is known better for it."""
    once = [[[1, 1]], [[1, 0]], [[0, 0]], [[1, 1]], [[0, 1]], [[1, 0]]]
    twice = [play * 4 for play in once]
    tables = []
    for conversations in (once, twice):
        records, scores = played(*conversations)
        lengths = {record.conversation: 2 for record in records}
        tables.append(depth_table(records, scores, lengths).groups[0].total)
    few, many = (table.scores["check"] for table in tables)
    assert (many.low, many.high, many.value) == (few.low, few.high, few.value)
    assert (few.scored, many.scored, many.conversations) == (12, 48, 6)
    assert (tables[1].turns, tables[1].conversations) == (48, 6)
    records, scores = played(*twice)
    hat = repeat_numbers(records, scores, 4).curves[2].passes_all
    assert [(one.low, one.high) for one in hat] == [(few.low, few.high)] * 4


def test_the_interval_of_pass_k_holds_the_truth_about_as_often_as_it_says():
    """
    Beta-binomial conversations; pass^3 of a Beta(4, 1) is 4/7. 100 data sets of 30 conversations: a share of
    .95 gives 88 or fewer less than one time in 200. ``benchmarks/interval_coverage.py`` looks closer.
    """
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(100):
        chances = rng.beta(4, 1, size=30)
        records, scores = played(*[[[int(one)] for one in rng.random(3) < chance] for chance in chances])
        third = repeat_numbers(records, scores, 3, resamples=100).curves[-1].passes_all[2]
        held += third.low <= 4 / 7 <= third.high
    assert held > 88


def test_the_spread_is_that_of_the_plays_own_numbers():
    records, scores = played([[1, 1], [1, 0], [0, 0]], [[1, 1], [FAILED, 1], [1, 0]])
    first, second, every = repeat_numbers(records, scores, 3).spread
    assert (first.depth, second.depth, every.depth) == (1, 2, None)
    assert first.values == (1, 1, 0.5)
    assert first.turns == (2, 1, 2)
    assert every.values == (1, 2 / 3, 1 / 4)
    assert every.deviation == pytest.approx(stdev(every.values))
    assert (every.least, every.most) == (1 / 4, 1)


def test_a_play_of_which_nothing_is_there_has_no_number():
    records, scores = played([[1, 1]], [[1, 0]])
    assert repeat_numbers(records, scores, 2).spread[-1].values == (0.75, None)


def test_a_score_that_no_turn_has_is_left_out():
    records, scores = played([[FAILED], [FAILED]])
    found = repeat_numbers(records, scores, 2)
    assert (found.curves, found.spread) == ((), ())


def test_a_frame_has_a_row_for_each_k():
    records, scores = played([[1, 1], [1, 0]], [[1, 1], [0, FAILED]])
    frame = repeat_numbers(records, scores, 2, resamples=50).to_frame()
    assert len(frame) == 4 * 2
    whole = frame[frame["whole_conversation"]].set_index("k")
    assert whole["depth"].isna().all()
    assert list(whole["pass_all"]) == [0.75, 0]
    assert list(whole["cases"]) == [2, 1]
    first = frame[(frame["depth"] == 1) & (frame["k"] == 2)].iloc[0]
    assert (first["pass_all"], first["pass_any"]) == (0.5, 1)
    assert first["pass_all_low"] < 0.5 < first["pass_all_high"]
    assert repeat_numbers([], {}, 2).to_frame().empty


def test_cases_are_by_recorded_conversation():
    records, scores = played([[1], [0]])
    assert outcomes(records, scores["check"], range(2)) == {
        ("c0", 1): {1: True, 2: False},
        ("c0", None): {1: True, 2: False},
    }
