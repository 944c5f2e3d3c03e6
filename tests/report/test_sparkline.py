from __future__ import annotations

import pytest

from replay.report.trends import BARS, MOST, can_show_bars, sparkline


def test_bars_go_from_the_lowest_to_the_highest():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], low=0, high=7) == BARS


def test_a_missing_value_is_a_gap_and_what_lies_beyond_is_an_end():
    assert sparkline([None, -5, 5, None, 0.5], low=0, high=1) == " ▁█ ▅"


def test_equal_values_are_neither_low_nor_high():
    assert sparkline([3, 3], low=3, high=3) == "▄▄"


@pytest.mark.parametrize("length", [MOST, MOST + 1, 100, 1000])
def test_a_long_row_stays_short_and_keeps_its_shape(length):
    found = sparkline([float(place) for place in range(length)], low=0, high=length - 1)

    assert MOST // 2 <= len(found) <= MOST
    assert list(found) == sorted(found)
    assert (found[0], found[-1]) == ("▁", "█")


def test_bars_are_shown_only_where_the_encoding_has_them():
    assert can_show_bars("utf-8")
    assert not can_show_bars("latin-1")
    assert not can_show_bars("no-such-encoding")
