"""The two learned judgements at run time."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference import edit_evidence, verdict_evidence
from replay.coreference.small_network import (
    DRIFT,
    EDIT,
    FURTHEST,
    PARAMETERS,
    SmallNetwork,
    shipped,
    unpacked,
)


def network(**changed):
    """Two numbers seen: the score is the first one's distance from 1 in spreads of 2, less the second's."""
    given = {
        "mean": [1.0, 0.0],
        "spread": [2.0, 1.0],
        "hidden": [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
        "hidden_bias": [0.0, 0.0, 0.0],
        "out": [1.0, -1.0, -1.0],
        "out_bias": [0.0],
        "thresholds": [0.1, 0.4, 0.7],
        "precisions": [0.5, 0.8, 0.9],
    } | changed
    return SmallNetwork(**{name: np.asarray(values, np.float64) for name, values in given.items()})


def odds(probability):
    return np.log(probability / (1 - probability))


def test_a_row_is_scored_by_its_distance_from_the_mean():
    found = network().probabilities([[1.0, 0.0], [3.0, 0.0], [-3.0, 0.0], [1.0, 0.5], [1.0, -5.0]])

    assert [odds(p) for p in found] == pytest.approx([0, 1, -2, -0.5, 0])
    assert [odds(p) for p in network(out_bias=[0.5]).probabilities([[3.0, 0.0]])] == pytest.approx([1.5])


def test_what_lies_further_off_than_anything_learned_counts_as_the_furthest():
    assert FURTHEST == 4.0
    assert [odds(p) for p in network().probabilities([[9.0, 0], [1e9, 0], [-1e9, 0]])] == pytest.approx(
        [4, 4, -4]
    )


@pytest.mark.parametrize(
    ("precision", "threshold"), [(0.3, 0.1), (0.5, 0.1), (0.51, 0.4), (0.8, 0.4), (0.9, 0.7), (0.99, 0.7)]
)
def test_the_line_is_drawn_at_the_lowest_threshold_that_is_precise_enough(precision, threshold):
    """At the highest measured where none is."""
    assert network().threshold_for(precision) == threshold


def test_stored_networks_read_alike():
    stored = {name: getattr(network(), name).astype(np.float32) for name in PARAMETERS}
    again = unpacked(stored)

    assert again.probabilities([[3.0, 0.0]]) == network().probabilities([[3.0, 0.0]])
    assert again.hidden.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "width"),
    [
        (DRIFT, verdict_evidence.WIDTH),
        (EDIT, None),
    ],
)
def test_what_ships_fits_the_evidence(name, width):
    learned = shipped(name)
    if width is None:
        width = len(edit_evidence.edit_evidence("Who?", verdict_evidence._NOBODY, ""))

    assert len(learned.mean) == len(learned.spread) == len(learned.hidden) == width
    assert (np.diff(learned.thresholds) > 0).all()
    assert (np.diff(learned.precisions) >= 0).all()
    assert len(learned.thresholds) == len(learned.precisions) > 0
    assert shipped(name) is learned
