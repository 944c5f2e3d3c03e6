"""
One row of a depth table: what happened to the turns of one depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.core.record import TurnRecord
from replay.statistics.estimate import Estimate

FEW_CONVERSATIONS = 5
"""Below this many conversations a depth's numbers say little."""

COUNTS = (
    "depth",
    "turns",
    "conversations",
    "skipped",
    "failed",
    "unreached",
    "drift_checked",
    "not_judged",
    "invalid",
    "invalid_share",
    "edited",
    "edited_share",
    "not_found",
    "rewrite_failed",
    "latency_p50_s",
    "latency_p95_s",
)
"""The single values of a row, in the order of tables and files: all but scores and kinds of failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthRow:
    """The turns of one depth, or of all, of one system under one policy."""

    depth: int | None
    """None for all depths together."""
    turns: int
    """Turns asked: answered or failed."""
    conversations: int
    """Conversations with such a turn."""
    skipped: int
    """Turns that the ``filter`` policy did not ask."""
    unreached: int
    """Turns of the data that were never planned: their conversation stopped before, or the run did."""
    failures: Mapping[str, int]
    """Turns asked without getting an answer, by outcome."""
    drift_checked: int
    """Turns with a drift verdict, skipped ones included."""
    unjudged: Mapping[str, int]
    """Turns whose histories should have been compared and could not be, by reason."""
    invalid: int
    """Turns with a drift verdict whose recorded question no longer means the same."""
    edited: int
    """Turns asked with another question than recorded."""
    not_found: int
    """Invalid questions asked as recorded because the data has no standalone form."""
    rewrite_failed: int
    """Questions asked as recorded because the rewriter gave none that could be used."""
    latency_p50_s: float | None
    latency_p95_s: float | None
    """Percentiles over the answered turns; None if there are none."""
    scores: Mapping[str, Estimate]
    shortened: int = 0
    """Turns whose histories hold texts that were too long to be read whole."""

    @property
    def failed(self) -> int:
        """Turns asked without getting an answer."""
        return sum(self.failures.values())

    @property
    def not_judged(self) -> int:
        """Turns whose histories should have been compared and could not be."""
        return sum(self.unjudged.values())

    @property
    def invalid_share(self) -> float | None:
        """Invalid questions among those checked; None where the policy doesn't compare histories."""
        return self.invalid / self.drift_checked if self.drift_checked else None

    @property
    def edited_share(self) -> float | None:
        """Edited questions among those asked; None if none was asked."""
        return self.edited / self.turns if self.turns else None

    def counts(self) -> dict[str, Any]:
        """Return everything but the scores, as plain values."""
        return {name: getattr(self, name) for name in COUNTS}


def depth_row(
    records: Sequence[TurnRecord], depth: int | None, planned: int, scores: Mapping[str, Estimate]
) -> DepthRow:
    """
    Return the row of *records*, all of one system and policy and of *depth* (None: of any).

    *planned* is the number of turns that the data has there.
    """
    asked = [record for record in records if record.outcome != "skipped"]
    drifts = [record.drift for record in records if record.drift is not None]
    verdicts = [drift.valid for drift in drifts if drift.valid is not None]
    unjudged = Counter(drift.kind_not_judged for drift in drifts if drift.valid is None)
    latencies = [r.timing.latency_s for r in asked if r.outcome == "answered" and r.timing is not None]
    p50, p95 = np.quantile(latencies, [0.5, 0.95]) if latencies else (None, None)
    return DepthRow(
        depth=depth,
        turns=len(asked),
        conversations=len({record.recorded_conversation for record in asked}),
        skipped=len(records) - len(asked),
        unreached=planned - len(records),
        failures=dict(sorted(Counter(record.outcome for record in asked if record.failed).items())),
        drift_checked=len(verdicts),
        unjudged=dict(sorted(unjudged.items())),
        invalid=verdicts.count(False),
        edited=sum(record.edit in ("rewritten", "replaced", "augmented") for record in asked),
        not_found=sum(record.edit == "not-found" for record in asked),
        rewrite_failed=sum(record.edit == "rewrite-failed" for record in asked),
        latency_p50_s=None if p50 is None else float(p50),
        latency_p95_s=None if p95 is None else float(p95),
        scores=scores,
        shortened=sum(drift.shortened > 0 for drift in drifts),
    )
