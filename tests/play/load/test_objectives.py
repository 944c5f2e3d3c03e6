"""What a system has to keep at a load, and the search for the highest level at which it does."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, given, strategies as st

from replay.play.load.level import (
    TIMES,
    ask_limits_s,
    bisect,
    confirm,
    parse_objective,
    parse_objectives,
    steps,
)
from tests.data_tables import from_table

SLO = {"ttft_p95_s": 0.5, "latency_p99_s": 3, "errors": 0.01, "f1_drop": 0.05, "f1_min": 0.3}


def test_objectives_read_as_they_are_meant():
    assert [str(objective) for objective in parse_objectives(SLO, scorers=["f1"])] == [
        "TTFT p95 at most 0.5 s",
        "latency p99 at most 3 s",
        "errors at most 1 %",
        "f1 at most 0.05 below the lowest level",
        "f1 at least 0.3",
    ]
    assert str(parse_objective("response_p99.9_s", 10)) == "response p99.9 at most 10 s"


@pytest.mark.parametrize("measure", TIMES)
def test_every_time_has_percentiles(measure):
    objective = parse_objective(f"{measure}_p99.9_s", 2.5)
    assert (objective.measure, objective.percentile, objective.threshold, objective.kind) == (
        measure,
        99.9,
        2.5,
        "time",
    )


def test_a_scorers_label_may_look_like_anything_else():
    labels = ["latency", "my_f1_min", "ndcg@3", "errors"]
    assert parse_objective("latency_min", 1, scorers=labels).measure == "latency"
    assert parse_objective("my_f1_min_drop", 1, scorers=labels).measure == "my_f1_min"
    assert parse_objective("ndcg@3_min", 1, scorers=labels).measure == "ndcg@3"
    assert parse_objective("errors_drop", 1, scorers=labels).measure == "errors"
    assert parse_objective("errors", 0.5, scorers=labels).kind == "errors"


@pytest.mark.parametrize("key", ["ttft_p95_s", "errors", "f1_drop"])
def test_at_most_is_met_up_to_the_threshold(key):
    objective = parse_objective(key, 0.5)
    assert objective.met({key: 0.5})
    assert objective.met({key: 0})
    assert not objective.met({key: 0.5000001})


def test_at_least_is_met_from_the_threshold():
    objective = parse_objective("f1_min", 0.5)
    assert objective.met({"f1_min": 0.5})
    assert not objective.met({"f1_min": 0.4999})


@pytest.mark.parametrize("key", SLO)
def test_what_was_not_measured_is_not_met(key):
    objective = parse_objective(key, SLO[key])
    assert not objective.met({})
    assert not objective.met({key: None})
    assert not objective.met({key: math.nan})


@from_table
def test_what_is_no_objective_is_reported_with_the_nearest_that_is(key, value, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse_objective(key, value, scorers=["f1", "em"])


@from_table
def test_thresholds_have_their_ranges(key, taken, refused):
    assert [parse_objective(key, value, scorers=["f1"]).threshold for value in taken] == list(taken)
    for value in refused:
        with pytest.raises(ValueError, match="is not a"):
            parse_objective(key, value, scorers=["f1"])


def test_percentiles_are_more_than_0_and_at_most_100():
    assert parse_objective("latency_p100_s", 1).percentile == 100
    assert parse_objective("latency_p0.1_s", 1).percentile == 0.1
    for key in ("latency_p0_s", "latency_p100.1_s"):
        with pytest.raises(ValueError, match="is not a percentile"):
            parse_objective(key, 1)


def test_all_that_is_wrong_is_reported_at_once():
    with pytest.raises(ValueError, match=r"slo\.eror: .*; slo\.f1_min: .*") as caught:
        parse_objectives({"eror": 1, "latency_p99_s": 1, "f1_min": None})
    assert "latency_p99_s: " not in str(caught.value)


def test_a_good_ask_keeps_to_all_objectives_that_are_about_asks():
    assert ask_limits_s(parse_objectives(SLO)) == {"ttft": 0.5, "latency": 3}
    assert ask_limits_s(parse_objectives({"errors": 0.1, "itl_p99_s": 1, "f1_min": 0.1})) == {}


def test_of_two_objectives_for_one_time_an_ask_has_to_keep_the_more_generous():
    """Half of the asks may take longer than the median's objective and be good all the same."""
    for slo in ({"latency_p50_s": 1, "latency_p99_s": 3}, {"latency_p99_s": 3, "latency_p50_s": 1}):
        assert ask_limits_s(parse_objectives(slo)) == {"latency": 3}


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
