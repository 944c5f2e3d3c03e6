"""
How conversations without recorded questions went (policy ``simulate``), by system and policy.

Whether a goal was reached is here what the user says who has it. A judge's view of it is a score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from replay.core.record import Ending, TurnRecord
from replay.statistics.group import Group, group_of, groups_in_order

ENDINGS: tuple[Ending, ...] = get_args(Ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSimulations:
    """A system under a policy."""

    group: Group
    plays: int
    """Conversations of which there is a turn or an end, each play by itself."""
    turns: int
    endings: Mapping[Ending, int]
    """Plays that a user ended, or the limit did, by how."""
    failed: int
    """Plays that ended with a failed ask."""
    rejected: int
    """What users worded, failed a test and was not said."""
    asks: int
    """Asks of the user's model."""
    cost_usd: float | None
    """What they cost in this run; None where nobody says."""

    @property
    def under_way(self) -> int:
        """Return the number of plays that are not over."""
        return self.plays - self.failed - sum(self.endings.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("plays", "turns", "failed", "under_way", "rejected", "asks", "cost_usd")
        return {
            "system": self.group.system,
            "policy": self.group.policy,
            "endings": dict(self.endings),
            **{name: getattr(self, name) for name in names},
        }


def count_simulations(
    records: Iterable[TurnRecord], endings: Iterable[TurnRecord]
) -> tuple[GroupSimulations, ...]:
    """Return the counts of each system and policy; *endings* are those of the plays among *records*."""
    found: dict[Group, list[TurnRecord]] = {}
    for record in (*records, *endings):
        found.setdefault(group_of(record), []).append(record)
    simulated = {
        group: turns
        for group, turns in found.items()
        if any(one.edit in ("simulated", "ended") for one in turns)
    }
    return tuple(_counts(group, simulated[group]) for group in groups_in_order(simulated))


def _counts(group: Group, found: list[TurnRecord]) -> GroupSimulations:
    ends = [one for one in found if one.is_end]
    done = [one for record in found for one in record.interventions]
    counts = Counter(one.move for record in ends for one in record.interventions)
    costs = [one.cost_usd for one in done if one.asks or one.cost_usd is not None]
    return GroupSimulations(
        group=group,
        plays=len({record.conversation for record in found}),
        turns=len(found) - len(ends),
        endings={name: counts[name] for name in ENDINGS if counts[name]},
        failed=sum(record.failed for record in found),
        rejected=sum(len(one.rejected) for one in done),
        asks=sum(one.asks for one in done),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
