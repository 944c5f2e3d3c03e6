from __future__ import annotations

import pytest

from replay.scenario.assertions.section import ALL_DEPTHS, DepthRange, read_depths
from tests.data_tables import from_table


@from_table
def test_depths_are_read_as_they_are_written(written, held, shown):
    found = read_depths(written)

    assert [depth for depth in range(1, 7) if depth in found] == held
    assert str(found) == shown


@pytest.mark.parametrize("written", ["deep", "", None, True, 2.5, "3-", "-3", ">=x", "2..5", [1]])
def test_what_means_no_depth_is_refused_with_what_does(written):
    with pytest.raises(ValueError, match='">=3"'):
        read_depths(written)


@pytest.mark.parametrize("written", [0, "0", "<1", "5-2", "0-3"])
def test_a_range_without_a_depth_is_refused(written):
    with pytest.raises(ValueError, match="holds no depth"):
        read_depths(written)


def test_a_range_already_read_stays_as_it_is():
    assert read_depths(DepthRange(2, 4)) == DepthRange(2, 4)
    assert DepthRange() == ALL_DEPTHS
