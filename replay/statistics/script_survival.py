"""
How far a recorded script carries: the share of conversations without a drifted question up to a depth.

A play's script breaks at the first question that means something else after the system's own answers. Until
then it is at risk; a play that ends before, by its length, a failed ask or a question without a verdict,
leaves the count without breaking. The share is the product-limit estimate (Kaplan & Meier, JASA 53, 1958).
Its interval is Wilson's, with the number of complete conversations that would have Greenwood's variance as
its cases (Rothman, Journal of Chronic Diseases 31, 1978): where no play leaves early that is Wilson's own
interval, and it stays within [0, 1]. Plays of one conversation count as one case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from replay.core.record import TurnRecord
from replay.statistics.group import Group, group_json, group_of, groups_in_order
from replay.statistics.interval import wilson_ends


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalRow:
    """One depth."""

    depth: int
    at_risk: int
    """Plays of which every question before this one fitted, and this one was judged."""
    broken: int
    """Those of which this one no longer means the same."""
    value: float
    """The share of conversations whose questions fit up to here, in [0, 1]."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSurvival:
    """A system under a policy."""

    group: Group
    rows: tuple[SurvivalRow, ...]
    """Depth 1 first, up to the last depth at which a play was at risk."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; shares in [0, 1]."""
        return group_json(self)


def script_survival(records: Iterable[TurnRecord], *, confidence: float = 0.95) -> tuple[ScriptSurvival, ...]:
    """
    Return how far the script carries for each system and policy that judges questions.

    Args:
        records: All turns of a run; plays that don't begin at depth 1 have no say.
        confidence: Of the intervals, in (0, 1); there are none with fewer than two conversations.
    """
    plays: dict[Group, dict[str, list[TurnRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        plays[group_of(record)][record.conversation].append(record)
    found = [
        ScriptSurvival(group=group, rows=_rows(list(plays[group].values()), confidence))
        for group in groups_in_order(plays)
    ]
    return tuple(one for one in found if one.rows)


def _rows(plays: list[list[TurnRecord]], confidence: float) -> tuple[SurvivalRow, ...]:
    from scipy.special import ndtri

    at_risk: dict[int, int] = defaultdict(int)
    broken: dict[int, int] = defaultdict(int)
    sources: set[str] = set()
    for records in plays:
        for depth, record in enumerate(sorted(records, key=lambda record: record.depth), 1):
            if record.depth != depth or record.drift is None or record.drift.valid is None:
                break
            sources.add(record.recorded_conversation)
            at_risk[depth] += 1
            if record.drift.invalid:
                broken[depth] += 1
                break
    rows = []
    share, greenwood = 1.0, 0.0
    for depth, risk in sorted(at_risk.items()):
        share *= 1 - broken[depth] / risk
        greenwood += broken[depth] / (risk * (risk - broken[depth])) if risk > broken[depth] else 0.0
        # Without a break, or with nothing left, there is no variance; those at risk are the cases then.
        cases = (1 - share) / (share * greenwood) if 0 < share < 1 else risk
        cases *= len(sources) / at_risk[1]
        low, high = wilson_ends(share, cases, float(ndtri((1 + confidence) / 2)))
        known = len(sources) > 1
        rows.append(
            SurvivalRow(
                depth=depth,
                at_risk=risk,
                broken=broken[depth],
                value=share,
                low=low if known else None,
                high=high if known else None,
            )
        )
    return tuple(rows)
