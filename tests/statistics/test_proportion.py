from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.proportion import proportion_confint

from replay.statistics.interval import Interval
from replay.statistics.proportion import wilson_interval
from replay.statistics.undefined import Undefined


def test_wilson_on_a_published_example():
    """Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
    for cases, of, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        found = wilson_interval(cases, of)
        assert isinstance(found, Interval)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 50), st.integers(1, 50), st.floats(0.5, 0.999))
def test_wilson_is_that_of_statsmodels(cases, of, confidence):
    cases = min(cases, of)
    found = wilson_interval(cases, of, confidence)
    theirs = proportion_confint(cases, of, alpha=1 - confidence, method="wilson")

    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx(theirs, abs=1e-9)


def test_no_cases_have_no_interval():
    assert wilson_interval(0, 0) == Undefined(reason="no cases")
    with pytest.raises(ValueError, match="not a share"):
        wilson_interval(3, 2)
