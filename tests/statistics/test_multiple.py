from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.multitest import multipletests

from replay.statistics.multiple import holm


def test_holm_by_hand():
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1 gives .02, .03, .06, .04, and never falls."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_a_comparison_that_was_not_made_does_not_count():
    assert holm([None, 0.02, None, 0.03]) == [None, 0.04, None, 0.04]
    assert holm([]) == []


def test_what_is_no_p_value_is_refused():
    with pytest.raises(ValueError, match="not a p-value"):
        holm([1.5])
