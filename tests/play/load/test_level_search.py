"""Searches for the highest level: what they measure, what they find, and when they stop."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, strategies as st

from replay.play.load.level_search import bisect, steps


def played(search, met):
    """All levels that *search* measures when *met* says how each goes."""
    levels = []
    while (level := search.next_level()) is not None:
        levels.append(level)
        assert len(levels) < 1000
        search.tell(level, met(level))
    return levels


def below(limit):
    return lambda level: level <= limit


def test_steps_go_up_to_the_first_level_that_misses():
    search = steps([1, 2, 4, 8, 16])
    assert played(search, below(5)) == [1, 2, 4, 8]
    assert (search.result.knee, search.result.missed) == (4, 8)


def test_steps_can_go_on_through_all():
    search = steps([1, 2, 4, 8, 16], go_on=True)
    assert played(search, below(5)) == [1, 2, 4, 8, 16]
    assert (search.result.knee, search.result.missed) == (4, 8)


def test_a_level_that_meets_by_luck_above_one_that_misses_is_not_the_knee():
    search = steps([1, 2, 4], go_on=True)
    played(search, lambda level: level != 2)
    assert (search.result.knee, search.result.missed) == (1, 2)


@pytest.mark.parametrize("make", [lambda: steps([4, 8]), lambda: bisect(4, 64)])
def test_without_a_level_that_meets_there_is_no_knee(make):
    search = make()
    assert played(search, below(1)) == [4]
    assert (search.result.knee, search.result.missed) == (None, 4)


@pytest.mark.parametrize("make", [lambda: steps([4, 8, 10]), lambda: bisect(4, 10)])
def test_without_a_level_that_misses_the_limit_may_be_beyond(make):
    search = make()
    assert played(search, below(100)) == [4, 8, 10]
    assert (search.result.knee, search.result.missed) == (10, None)


def test_bisection_doubles_and_then_halves():
    search = bisect(1, 100, resolution=0.1)
    assert played(search, below(10.4)) == [1, 2, 4, 8, 16, 12, 10, 11]
    assert (search.result.knee, search.result.missed) == (10, 11)


def test_whole_levels_stay_whole():
    search = bisect(1, 64, resolution=0.01, whole=True)
    assert played(search, below(5)) == [1, 2, 4, 8, 6, 5]
    assert (search.result.knee, search.result.missed) == (5, 6)


@given(st.floats(0.1, 100), st.floats(1, 1000), st.floats(0.01, 0.5), st.floats(0.05, 2000), st.booleans())
def test_bisection_finds_the_limit_within_the_resolution_and_its_bounds(
    low, factor, resolution, limit, whole
):
    high = low * factor
    if whole:
        low, high = math.ceil(low), math.ceil(high)
    assume(high >= low)
    search = bisect(low, high, resolution=resolution, whole=whole)
    levels = played(search, below(limit))

    assert len(set(levels)) == len(levels)
    assert len(levels) <= math.ceil(math.log2(high / low) + 2 + math.log2(1 / resolution))
    assert all(low <= level <= high for level in levels)
    assert not whole or all(float(level).is_integer() for level in levels)
    knee, missed = search.result.knee, search.result.missed
    if limit < low:
        assert (knee, missed) == (None, low)
    elif limit >= high:
        assert (knee, missed) == (high, None)
    else:
        assert knee <= limit < missed
        assert missed - knee <= resolution * knee or (whole and missed - knee == 1)


def test_the_next_level_stays_the_same_until_it_is_told():
    search = steps([1, 2])
    assert [search.next_level() for _ in range(3)] == [1, 1, 1]
    search.tell(1, True)
    assert search.next_level() == 2


def test_a_level_is_missed_only_after_it_missed_as_often_as_is_to_be_confirmed():
    outcomes = {1: [True], 2: [False, True], 4: [False, False, False]}
    search = steps([1, 2, 4, 8], confirm=3)

    assert played(search, lambda level: outcomes[level].pop(0)) == [1, 2, 2, 4, 4, 4]
    assert (search.result.knee, search.result.missed) == (2, 4)


def test_misses_of_one_level_do_not_count_for_the_next():
    outcomes = {1: [False, True], 2: [False, True]}
    search = bisect(1, 2, confirm=2)
    assert played(search, lambda level: outcomes[level].pop(0)) == [1, 1, 2, 2]
    assert search.result.knee == 2


def test_what_is_known_so_far_can_be_asked_at_any_time():
    search = steps([1, 2, 3])
    assert (search.result.knee, search.result.missed) == (None, None)
    search.tell(1, True)
    assert (search.result.knee, search.result.missed) == (1, None)


def test_a_search_that_is_told_again_goes_on_where_it_stood():
    whole = bisect(1, 100)
    levels = played(whole, below(21))
    again = bisect(1, 100)
    for level in levels[:5]:
        again.tell(level, below(21)(level))
    assert played(again, below(21)) == levels[5:]
    assert again.result == whole.result


def test_a_level_that_was_not_asked_for_can_not_be_told():
    search = steps([1])
    with pytest.raises(ValueError, match="level 2 was told, but level 1 was asked for"):
        search.tell(2, True)
    search.tell(1, True)
    with pytest.raises(ValueError, match="no level was asked for"):
        search.tell(1, True)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: steps([]), "no level"),
        (lambda: steps([1, 1]), "levels go up"),
        (lambda: steps([0, 1]), "a level is 0"),
        (lambda: steps([1], confirm=0), "confirm is 0"),
        (lambda: bisect(0, 1), "low is 0"),
        (lambda: bisect(2, 1), "below low"),
        (lambda: bisect(1, math.inf), "high is inf"),
        (lambda: bisect(1, 2, resolution=0), "resolution is 0"),
        (lambda: bisect(1.5, 2, whole=True), "whole numbers"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
