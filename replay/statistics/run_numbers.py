"""
What a report of a run is made from, however it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.statistics.checks import Checks
from replay.statistics.depth_table import DepthTable
from replay.statistics.failure_reasons import FailureReason
from replay.statistics.hidden_points import HiddenPoints
from replay.statistics.interventions import GroupInterventions
from replay.statistics.paired import PairedDifference
from replay.statistics.people import HumanScores
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.script_survival import ScriptSurvival
from replay.statistics.wording import WordingAgreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Numbers and what is needed to read them."""

    table: DepthTable
    gaps: tuple[PairedDifference, ...] = ()
    """Differences on the same turns, as ``policy_gaps`` gives them."""
    hidden: tuple[HiddenPoints, ...] = ()
    """What testing with recorded answers hides of each system."""
    wording: tuple[WordingAgreement, ...] = ()
    """How often rewritten questions agree with the data's standalone ones."""
    failures: tuple[FailureReason, ...] = ()
    """Why turns failed, each reason once."""
    loop_lag_s: Mapping[str, float] = field(default_factory=dict)
    """How late the event loop was while each system was asked over a wire (99th percentile), by name."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """Of what moved the numbers beside the scorers, by name: policies, data."""
    remarks: tuple[str, ...] = ()
    """Further notes, in words, such as what judging took."""
    judges: tuple[Mapping[str, Any], ...] = ()
    """What is known of each judge, as plain values."""
    repeats: RepeatNumbers | None = None
    """What several plays of each conversation say; None where each was played once."""
    interventions: tuple[GroupInterventions, ...] = ()
    """What users did, of each system under each policy that has one."""
    survival: tuple[ScriptSurvival, ...] = ()
    """How far the recorded script carries under each policy that judges questions."""
    people: HumanScores | None = None
    """What people said in the study that the run comes out of; None where there was none."""
    checks: Checks | None = None
    """What became of the checks that the data makes; None where it makes none."""
