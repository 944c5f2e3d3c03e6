"""
What users did, by system and policy: in the turns of a run (policy ``react``), by depth too, and in
conversations without recorded questions (policy ``simulate``).

Depth counts intents, whatever exchanges they took; these are counted beside it. Scores of runs with
different users can't be compared, so a policy's signature has its user. Whether a goal was reached is here
what the user says who has it; a judge's view of it is a score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from replay.core.record import Ending, Intervention, Occasion, TurnRecord
from replay.statistics.group import Group, group_json, group_of, groups_in_order

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
    control: Control | None = None
    """Of a system that gave recorded answers alone, so that users are to be measured by it."""
    rows: tuple[InterventionRow, ...]
    """By depth, then all depths together."""

    @property
    def total(self) -> InterventionRow:
        return self.rows[-1]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; of all depths together the depth is null."""
        plain = group_json(self)
        return {name: value for name, value in plain.items() if value is not None}


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
    return InterventionRow(
        depth=depth,
        intents=len(records),
        exchanges=sum(record.exchanges for record in records),
        touched=sum(bool(record.interventions) for record in records),
        occasions={name: counts[name] for name in OCCASIONS if counts[name]},
        unsaid=sum(one.said is None for one in done),
        **_effort(done),
    )


ENDINGS: tuple[Ending, ...] = get_args(Ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSimulations:
    """A system under a policy."""

    group: Group
    endings: Mapping[Ending, int]
    """Plays that a user ended, or the limit did, by how."""
    plays: int
    """Conversations of which there is a turn or an end, each play by itself."""
    turns: int
    failed: int
    """Plays that ended with a failed ask."""
    under_way: int
    """Plays that are not over."""
    rejected: int
    """What users worded, failed a test and was not said."""
    asks: int
    """Asks of the user's model."""
    cost_usd: float | None
    """What they cost in this run; None where nobody says."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return group_json(self)


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
    endings = {name: counts[name] for name in ENDINGS if counts[name]}
    plays, failed = len({record.conversation for record in found}), sum(record.failed for record in found)
    return GroupSimulations(
        group=group,
        endings=endings,
        plays=plays,
        turns=len(found) - len(ends),
        failed=failed,
        under_way=plays - failed - sum(endings.values()),
        **_effort(done),
    )


def _effort(done: Sequence[Intervention]) -> dict[str, Any]:
    """Return what came of asking a user's model."""
    costs = [one.cost_usd for one in done if one.asks or one.cost_usd is not None]
    return {
        "rejected": sum(len(one.rejected) for one in done),
        "asks": sum(one.asks for one in done),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
    }
