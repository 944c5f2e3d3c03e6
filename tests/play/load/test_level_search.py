"""Searches for the highest level: what they measure, what they find, and when they stop."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, strategies as st

from replay.play.load.level import bisect, confirm, steps


def played(search, met):
    """All levels that *search* measures when *met* says how each goes."""
    levels = []
    level = next(search)
    while level is not None:
        levels.append(level)
        assert len(levels) < 1000
        try:
            level = search.send(met(level))
        except StopIteration:
            level = None
    return levels


def below(limit):
    return lambda level: level <= limit


def test_steps_go_up_to_the_first_level_that_misses():
    assert played(steps([1, 2, 4, 8, 16]), below(5)) == [1, 2, 4, 8]


def test_steps_can_go_on_through_all():
    assert played(steps([1, 2, 4, 8, 16], go_on=True), below(5)) == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("make", [lambda: steps([4, 8]), lambda: bisect(4, 64, resolution=0.1)])
def test_when_the_lowest_level_misses_the_search_is_over(make):
    assert played(make(), below(1)) == [4]


@pytest.mark.parametrize("make", [lambda: steps([4, 8, 10]), lambda: bisect(4, 10, resolution=0.1)])
def test_without_a_level_that_misses_the_search_ends_with_the_highest(make):
    assert played(make(), below(100)) == [4, 8, 10]


def test_bisection_doubles_and_then_halves():
    assert played(bisect(1, 100, resolution=0.1), below(10.4)) == [1, 2, 4, 8, 16, 12, 10, 11]


def test_whole_levels_stay_whole():
    assert played(bisect(1, 64, resolution=0.01, whole=True), below(5)) == [1, 2, 4, 8, 6, 5]


@given(st.floats(0.1, 100), st.floats(1, 1000), st.floats(0.01, 0.5), st.floats(0.05, 2000), st.booleans())
def test_bisection_finds_the_limit_within_the_resolution_and_its_bounds(
    low, factor, resolution, limit, whole
):
    high = low * factor
    if whole:
        low, high = math.ceil(low), math.ceil(high)
    assume(high >= low)
    levels = played(bisect(low, high, resolution=resolution, whole=whole), below(limit))

    assert len(set(levels)) == len(levels)
    assert len(levels) <= math.ceil(math.log2(high / low) + 2 + math.log2(1 / resolution))
    assert all(low <= level <= high for level in levels)
    assert not whole or all(float(level).is_integer() for level in levels)
    met = max((level for level in levels if level <= limit), default=None)
    missed = min((level for level in levels if level > limit), default=None)
    if limit < low:
        assert (met, missed) == (None, low)
    elif limit >= high:
        assert (met, missed) == (high, None)
    else:
        assert met <= limit < missed
        assert missed - met <= resolution * met or (whole and missed - met == 1)


def test_a_level_is_missed_only_after_it_missed_as_often_as_is_to_be_confirmed():
    outcomes = {1: [True], 2: [False, True], 4: [False, False, False]}
    search = confirm(steps([1, 2, 4, 8]), 3)
    assert played(search, lambda level: outcomes[level].pop(0)) == [1, 2, 2, 4, 4, 4]


def test_misses_of_one_level_do_not_count_for_the_next():
    outcomes = {1: [False, True], 2: [False, True]}
    search = confirm(bisect(1, 2, resolution=0.1), 2)
    assert played(search, lambda level: outcomes[level].pop(0)) == [1, 1, 2, 2]
