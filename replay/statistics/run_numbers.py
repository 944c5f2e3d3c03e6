"""
What a report of a run is made from, however it is shown.

What testing with recorded answers hides, and what better questions give back of it.

Hidden is ``gold`` minus ``pred``; given back is ``rewrite``, or ``replace``, minus ``pred``. Each is a paired
difference on the turns that both policies have a score for.

How often our rewritten questions agree with the data's standalone ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import msgspec

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.checks import Checks
from replay.statistics.depth_table import DepthTable
from replay.statistics.estimate import Sampling
from replay.statistics.failure_reasons import FailureReason
from replay.statistics.group import Group
from replay.statistics.paired import PairedDifference, policy_gaps
from replay.statistics.people import HumanScores
from replay.statistics.recorded import RecordedNumbers, ScriptSurvival
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.score_column import ScoreColumn
from replay.statistics.server_times import GroupServerTimes
from replay.statistics.turn_groups import TurnGroups
from replay.statistics.users import GroupInterventions, GroupSimulations

MENDING = ("rewrite", "replace")
"""The policies that ask a question in other words after the system's own answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPoints:
    """One system, in one score."""

    gap: PairedDifference
    """``pred`` minus ``gold``: below 0 where recorded answers hide a loss."""
    given_back: Mapping[str, PairedDifference]
    """By policy of ``MENDING``, as far as it was played: that policy minus ``pred``."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "system": self.gap.second.system,
            "score": self.gap.score,
            "gap": self.gap.total.to_json(),
            "given_back": {policy: one.total.to_json() for policy, one in self.given_back.items()},
        }


def hidden_points(
    gaps: Sequence[PairedDifference],
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    **sampling: Unpack[Sampling],
) -> tuple[HiddenPoints, ...]:
    """
    Return what is hidden of each system, in the first of *scores* that is a share and better when higher.

    Args:
        gaps: The differences to ``gold``, as ``policy_gaps`` gives them for the same arguments.
        records: All turns of the run.
        scores: Columns over *records*.
        sampling: How intervals are made.

    Returns:
        One for each system that played ``gold`` and ``pred``; nothing without such a score.

    Raises:
        ValueError: A column doesn't fit the records, or a turn is recorded twice for a group.
    """
    shares = (name for name, one in scores.items() if one.unit == SHARE and not one.lower_is_better)
    score = next(shares, None)
    hiding = [
        gap
        for gap in gaps
        if (gap.score, gap.first.policy, gap.second.policy) == (score, "gold", "pred")
        and gap.total.value is not None
    ]
    if score is None or not hiding:
        return ()
    columns = {score: scores[score]}
    mended = policy_gaps(records, columns, baseline="pred", **sampling)
    return tuple(
        HiddenPoints(
            gap=gap,
            given_back={
                policy: one
                for policy in MENDING
                for one in mended
                if (one.first, one.second.policy) == (gap.second, policy) and one.total.value is not None
            },
        )
        for gap in hiding
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingAgreement:
    """The questions of one group that were rewritten and have a standalone question in the data."""

    group: Group
    questions: int
    equal: int
    """The same word for word, as ``em`` compares: lower case, no punctuation, no articles."""
    same_things: int
    """The same content words, in any order: all words but the function words of English."""
    nothing_else: int
    """No content word that the data's question hasn't got; it may have more."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


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
    simulations: tuple[GroupSimulations, ...] = ()
    """How conversations without recorded questions went, of each system and policy."""
    survival: tuple[ScriptSurvival, ...] = ()
    """How far the recorded script carries under each policy that judges questions."""
    turn_groups: tuple[TurnGroups, ...] = ()
    """Scores by what the data say of questions; empty where they say nothing."""
    people: HumanScores | None = None
    """What people said in the study that the run comes out of; None where there was none."""
    server: tuple[GroupServerTimes, ...] = ()
    """What servers say that they took, of each system and policy of which one said something."""
    checks: Checks | None = None
    """What became of the checks that the data makes; None where it makes none."""
    recorded: RecordedNumbers | None = None
    """Each answer held against the recorded one; None where that was not asked for."""
