"""Holm's correction, held against statsmodels'."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from replay.statistics.comparison import holm


@pytest.mark.parametrize(
    "p_values",
    [
        [0.04],
        [0.005, 0.01, 0.04, 0.03],
        [0.5, 0.5, 0.5],
        np.round(np.random.default_rng(3).uniform(size=200) ** 3, 3).tolist(),  # with ties
    ],
    ids=len,
)
def test_the_adjusted_values_are_those_of_statsmodels(p_values):
    assert holm(p_values) == multipletests(p_values, method="holm")[1].tolist()


def test_of_nothing_there_is_nothing():
    assert holm([]) == []
