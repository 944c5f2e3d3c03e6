"""Recorded times in their two ways of writing."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from replay.datasets.turn_metadata import seconds_of
from tests.data_tables import from_table


@from_table
def test_a_time_is_seconds_or_a_date(timestamp, seconds):
    assert seconds_of(timestamp) == seconds


@pytest.mark.parametrize(
    "bad", ["", "12.5", "noon", "2024-13-01", True, math.nan, math.inf, None, [1], 10**400]
)
def test_anything_else_is_no_time(bad):
    with pytest.raises(ValueError, match="is not a time"):
        seconds_of(bad)


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.integers(-23 * 60, 23 * 60))  # noqa: DTZ001
def test_a_moment_is_the_same_whatever_zone_it_is_written_in(moment, offset_minutes):
    moment = moment.replace(tzinfo=UTC)
    zone = timezone(timedelta(minutes=offset_minutes))
    assert seconds_of(moment.astimezone(zone).isoformat()) == moment.timestamp()
