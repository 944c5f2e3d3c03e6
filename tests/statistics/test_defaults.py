"""What a statistic does that was told nothing."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest

from replay.statistics.bradley_terry import bradley_terry
from replay.statistics.correlation import correlations
from replay.statistics.depth_table import DepthTable, depth_table
from replay.statistics.detector_quality import detector_quality_of
from replay.statistics.estimate import Estimate, Resampling, resampling
from replay.statistics.load.load_cell import LoadCell
from replay.statistics.load.load_level import LevelPlayed
from replay.statistics.load.load_summary import load_summary
from replay.statistics.load.percentiles import Percentiles
from replay.statistics.model_agreement import pairwise_agreement
from replay.statistics.paired import DifferenceRow, policy_gaps
from replay.statistics.preferences import preferences_of
from replay.statistics.rater_agreement import cohen_kappa, krippendorff_alpha
from replay.statistics.rater_table import rater_agreement_of
from replay.statistics.repeats import run_spread
from replay.statistics.sign_flip import PERMUTATIONS

INTERVAL = {"confidence": 0.95, "method": "t"}
DRAWN = {"resamples": 1000, "seed": 0, **INTERVAL}


@pytest.mark.parametrize(
    ("made", "defaults"),
    [
        (correlations, {"clusters": None, **DRAWN}),
        (depth_table, {"only_last": False, "by_all": True, **DRAWN}),
        (policy_gaps, {"baseline": "gold", **DRAWN}),
        (resampling, INTERVAL),
        (Resampling, INTERVAL),
        (DepthTable, {"method": "t"}),
        (Estimate, {"no_interval": None}),
        (DifferenceRow, {"no_interval": None}),
        (pairwise_agreement, {"confidence": 0.95}),
        (run_spread, {"by_depth": False}),
        (cohen_kappa, {"weights": None}),
        (krippendorff_alpha, {"level": "ordinal"}),
        (rater_agreement_of, {"level": "nominal", "same_raters": True, "pairs": True, **DRAWN}),
        (preferences_of, {"permutations": PERMUTATIONS, **DRAWN}),
        (bradley_terry, DRAWN),
        (detector_quality_of, {"threshold": 0.5, "bins": 10, "binning": "equal-width", **DRAWN}),
        (Percentiles, {"exact": True}),
        (
            LevelPlayed,
            {
                "conversations": None,
                "cut": None,
                "delayed": 0,
                "generators": (),
                "unclosed": 0,
                "first_unclosed": "",
                "interrupted": False,
                "stopped": None,
                "met": None,
                "goals": (),
            },
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nothing_said_is_the_documented_default(made, defaults):
    found = {
        name: parameter.default
        for name, parameter in signature(made).parameters.items()
        if parameter.default is not Parameter.empty
    }
    assert found == defaults


def test_a_load_run_that_nobody_scored_has_no_resamples_and_seed_zero():
    plain = {name: parameter.default for name, parameter in signature(load_summary).parameters.items()}

    assert (plain["skipped"], plain["resamples"], plain["seed"], plain["tallies"]) == (0, 0, 0, ())
    cell = LoadCell(turns=0, outcomes={})
    assert (cell.tallied, cell.retried, cell.answered, cell.failed, cell.error_share) == (0, 0, 0, 0, None)
