"""Where the limit is, in words."""

from __future__ import annotations

import pytest

from replay.report.load_document import saturation_sentence
from replay.statistics.load.load_findings import saturation
from tests.statistics.load.test_saturation import CLOSED, level


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        (
            CLOSED,
            "Saturated at concurrency 8: 145 answers/s. concurrency 16, 2 times the load, brought 151 (+4 %) "
            "and a median response of 103 instead of 53 ms.",
        ),
        (
            [level(8, 80, 0.1), level(12, 81, 0.2, errors=0.1), level(32, 79, 0.4)],
            "Saturated at concurrency 8, the lowest level, or below it: 80 answers/s. concurrency 12, 1.5 "
            "times the load, brought 81 (+1 %), a median response of 200 instead of 100 ms and 10.0 instead "
            "of 0.0 % failures.",
        ),
        (CLOSED[:3], "Not saturated up to concurrency 8: throughput still grew."),
        ([level(4, 40), level(8, 80), level(9, 81)], "Throughput hardly grew beyond concurrency 8; a level"),
        ([level(4, 40), level(8, 80, turns=60), level(16, 82, 0.2)], "fewer than 100 turns, too few to tell"),
        ([level(4, 40), level(8, 80), level(16, 82, 0.1)], "and not the system."),
    ],
)
def test_it_is_said_what_was_set_side_by_side(levels, sentence):
    found = saturation(levels)

    assert found is not None
    assert sentence in saturation_sentence(found)
