"""What a statistic does that was told nothing."""

from __future__ import annotations

from inspect import Parameter, signature

from replay.statistics.estimate import resampling
from replay.statistics.load.load_summary import load_summary


def defaults(made):
    parameters = signature(made).parameters
    return {name: one.default for name, one in parameters.items() if one.default is not Parameter.empty}


def test_intervals_are_those_of_docs_statistics():
    assert defaults(resampling) == {"resamples": 1000, "seed": 0, "confidence": 0.95, "method": "t"}


def test_a_load_run_that_nobody_scored_has_no_resamples_and_seed_zero():
    plain = defaults(load_summary)

    assert (plain["skipped"], plain["resamples"], plain["seed"], plain["tallies"]) == (0, 0, 0, ())
