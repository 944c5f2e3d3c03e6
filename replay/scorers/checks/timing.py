"""``latency_below_s`` and ``ttft_below_s``: what an answer took, as the scorers ``latency`` and ``ttft``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from replay.core.expectation import NO_TIMES
from replay.core.settings.choice import PositiveSeconds
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.operational import Operational
from replay.scorers.scorer import Unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """Every answer took less than so many seconds."""

    measure: Literal["latency", "ttft"]
    limit_s: float

    def look(self, seen: CheckInput) -> CheckOutcome:
        if any(record.cached for record in seen.records):
            return CheckOutcome(passed=None, reason=NO_TIMES)
        values = Operational(measure=self.measure).observe(seen.records)
        taken: list[tuple[float, int]] = []
        for record, value in zip(seen.records, values, strict=True):
            if isinstance(value, Unscored):
                return CheckOutcome(passed=None, reason=value.reason)
            taken.append((value, record.depth))
        slowest, depth = max(taken)
        place = f" at depth {depth}, the slowest" if seen.at_end else ""
        return CheckOutcome(passed=slowest < self.limit_s, evidence=f"{self.measure} {slowest:.3f} s{place}")


def latency_below_s(limit_s: PositiveSeconds) -> Below:
    """``latency_below_s``: seconds from sending the question to the answer's end."""
    return Below(measure="latency", limit_s=limit_s)


def ttft_below_s(limit_s: PositiveSeconds) -> Below:
    """``ttft_below_s``: seconds from sending the question to the first token."""
    return Below(measure="ttft", limit_s=limit_s)
