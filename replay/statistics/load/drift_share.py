"""The share of a load run's questions that drifted, by a sample of its turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.statistics.estimate import Estimate, estimate_cells, resampling
from replay.statistics.group import Group
from replay.statistics.score_column import ScoreColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftShare:
    """Of one system under one policy."""

    system: str
    policy: str
    turns: int
    """In all."""
    sample: int
    """Turns that were looked at; those of them that could not be judged are the estimate's ``unscored``."""
    invalid: Estimate
    """The share of those judged that no longer mean the same, in [0, 1]."""


def drift_shares(
    conversations: Sequence[str],
    groups: Sequence[Group],
    column: ScoreColumn,
    *,
    turns: dict[Group, int],
    resamples: int,
    seed: int,
) -> tuple[DriftShare, ...]:
    """
    Return the share of each of *groups*, in the order of *turns*, which says how many turns each has.

    *conversations*, *groups* and *column* go together, a turn each: its conversation in the data, and 1 where
    it drifted, 0 where it did not.
    """
    cells: dict[Group, list[int]] = {group: [] for group in turns}
    for place, group in enumerate(groups):
        cells[group].append(place)
    drawn = resampling(conversations, resamples=resamples, seed=seed)
    estimates, _ = estimate_cells(column, list(cells.values()), drawn)
    return tuple(
        DriftShare(
            system=group.system,
            policy=group.policy,
            turns=turns[group],
            sample=len(cells[group]),
            invalid=estimate,
        )
        for group, estimate in zip(cells, estimates, strict=True)
    )
