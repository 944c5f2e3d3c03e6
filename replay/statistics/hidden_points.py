"""
What testing with recorded answers hides, and what better questions give back of it.

Hidden is ``gold`` minus ``pred``; given back is ``rewrite``, or ``replace``, minus ``pred``. Each is a paired
difference on the turns that both policies have a score for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.interval import IntervalMethod
from replay.statistics.paired import PairedDifference, policy_gaps
from replay.statistics.score_column import ScoreColumn

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
    *,
    resamples: int = 1000,
    seed: int = 0,
    method: IntervalMethod = "t",
) -> tuple[HiddenPoints, ...]:
    """
    Return what is hidden of each system, in the first of *scores* that is a share and better when higher.

    Args:
        gaps: The differences to ``gold``, as ``policy_gaps`` gives them for the same arguments.
        records: All turns of the run.
        scores: Columns over *records*.
        resamples: How often conversations are drawn for an interval.
        seed: What they are drawn with.
        method: The kind of interval.

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
    mended = policy_gaps(records, columns, baseline="pred", resamples=resamples, seed=seed, method=method)
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
