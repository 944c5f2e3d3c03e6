"""
What a user did in the turns of a run (policy ``react``), by system, policy and depth.

Depth counts intents, whatever exchanges they took; these are counted beside it. Scores of runs with
different users can't be compared, so a policy's signature has its user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from replay.core.record import Occasion, TurnRecord
from replay.statistics.group import Group, group_of, groups_in_order

Control = Literal["recorded", "references"]
"""``recorded``: the answers that the recorded history holds, so that each intervention is an error of the
user's own. ``references``: other references among them, after which some questions really mean something
else."""
OCCASIONS: tuple[Occasion, ...] = get_args(Occasion)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionRow:
    """The turns at one depth, or all of them."""

    depth: int | None
    intents: int
    """Turns that were played."""
    exchanges: int
    """Exchanges with the system that they took."""
    touched: int
    """Turns in which a user did something."""
    occasions: Mapping[Occasion, int]
    """Why, by occasion; a turn may have several."""
    unsaid: int
    """Occasions on which nothing was said."""
    rejected: int
    """Wordings that failed a test and were not said."""
    asks: int
    """Asks of the user's model."""
    cost_usd: float | None
    """What they cost in this run; None where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInterventions:
    """A system under a policy with a user."""

    group: Group
    rows: tuple[InterventionRow, ...]
    """By depth, then all depths together."""
    control: Control | None = None
    """Of a system that gave recorded answers alone, so that users are to be measured by it."""

    @property
    def total(self) -> InterventionRow:
        return self.rows[-1]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; of all depths together the depth is null."""
        names = InterventionRow.__dataclass_fields__
        rows = [{name: getattr(row, name) for name in names} for row in self.rows]
        return {
            "system": self.group.system,
            "policy": self.group.policy,
            **({"control": self.control} if self.control else {}),
            "rows": [{**row, "occasions": dict(row["occasions"])} for row in rows],
        }


def count_interventions(
    records: Iterable[TurnRecord],
    policies: Collection[str],
    controls: Mapping[Group, Control] = MappingProxyType({}),
) -> tuple[GroupInterventions, ...]:
    """
    Return the counts of each system under each of *policies*, the labels of those with a user.

    *controls* are systems under policies that gave recorded answers alone.
    """
    turns: dict[Group, list[TurnRecord]] = {}
    for record in records:
        if record.policy in policies:
            turns.setdefault(group_of(record), []).append(record)
    return tuple(
        GroupInterventions(group=group, rows=tuple(_rows(turns[group])), control=controls.get(group))
        for group in groups_in_order(turns)
    )


def _rows(records: Sequence[TurnRecord]) -> list[InterventionRow]:
    depths = sorted({record.depth for record in records})
    by_depth = [_row(depth, [one for one in records if one.depth == depth]) for depth in depths]
    return [*by_depth, _row(None, records)]


def _row(depth: int | None, records: Sequence[TurnRecord]) -> InterventionRow:
    done = [one for record in records for one in record.interventions]
    counts = Counter(one.occasion for one in done)
    costs = [one.cost_usd for one in done if one.asks or one.cost_usd is not None]
    return InterventionRow(
        depth=depth,
        intents=len(records),
        exchanges=sum(record.exchanges for record in records),
        touched=sum(bool(record.interventions) for record in records),
        occasions={name: counts[name] for name in OCCASIONS if counts[name]},
        unsaid=sum(one.said is None for one in done),
        rejected=sum(len(one.rejected) for one in done),
        asks=sum(one.asks for one in done),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
