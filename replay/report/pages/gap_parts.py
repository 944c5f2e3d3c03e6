"""
What the gap between gold answers and a system's own is made of.

Under ``pred`` the same questions are asked as under ``gold``, over the system's own answers. What is lost
has two causes: questions that no longer mean what they meant (drift), and answers that are wrong although
the question is clear. A policy that mends questions tells them apart, on turns scored under all three:

    gap      = gold - pred
    repaired = mended - pred      what mending the questions gives back
    left     = gold - mended      wrong answers in the history, and what mending cannot repair

A second look needs no mending policy: the turns of ``pred`` by the verdict on their question. Both parts
are shares of all turns, so that they add up to the gap. A drifted question is often also hard, so neither
look proves a cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from replay.statistics.bootstrap import cluster_weights
from replay.statistics.estimate import resampled_values
from replay.statistics.group import Group
from replay.statistics.interval import Interval, interval
from replay.statistics.score_column import ScoreColumn

Turn = tuple[str, int]
"""Conversation and depth."""
MENDING = ("rewrite", "replace", "augment")
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A difference of two means over the same turns, with its interval where there is one."""

    value: float
    low: float | None
    high: float | None

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapParts:
    """One score of one system, on turns that are scored under all three policies."""

    system: str
    score: str
    unit: str
    mended_by: str
    turns: int
    conversations: int
    means: tuple[float, float, float]
    """Under ``gold``, ``pred`` and the mending policy."""
    gap: Part
    repaired: Part
    left: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class GapByVerdict:
    """The gap of ``pred``, by whether a turn's question still meant the same."""

    system: str
    score: str
    unit: str
    turns: int
    drifted_turns: int
    gap: Part
    on_drifted: Part
    """The drifted questions' part of the gap: it and the next add up to the gap."""
    on_valid: Part


Observed = Mapping[Group, Mapping[Turn, object]]
"""A score's observations of scored turns."""


def gap_parts(
    score: str,
    column: ScoreColumn,
    observed: Observed,
    *,
    sources: Mapping[str, str] | None = None,
    seed: int,
    resamples: int = 1000,
) -> list[GapParts]:
    """
    The parts for each system that has ``gold``, ``pred`` and a mending policy; *column* has the scorer.

    *sources* names the recorded conversation of plays that have an id of their own: those are drawn
    together.
    """
    found = []
    for mended in observed:
        base = mended.policy.partition("(")[0]
        sides = [Group(mended.system, "gold"), Group(mended.system, "pred"), mended]
        if base not in MENDING or any(group not in observed for group in sides):
            continue
        turns = sorted(set.intersection(*(set(observed[group]) for group in sides)))
        if not turns:
            continue
        means, resampled, conversations = _means(
            column, observed, sides, turns, _clusters(turns, sources), seed, resamples
        )
        gold, pred, other = means
        found.append(
            GapParts(
                system=mended.system,
                score=score,
                unit=column.unit,
                mended_by=mended.policy,
                turns=len(turns),
                conversations=conversations,
                means=(gold, pred, other),
                gap=_part(gold - pred, resampled[:, 0] - resampled[:, 1], conversations),
                repaired=_part(other - pred, resampled[:, 2] - resampled[:, 1], conversations),
                left=_part(gold - other, resampled[:, 0] - resampled[:, 2], conversations),
            )
        )
    return found


def gap_by_verdict(
    score: str,
    column: ScoreColumn,
    observed: Observed,
    drifted: Mapping[str, set[Turn]],
    *,
    sources: Mapping[str, str] | None = None,
    seed: int,
    resamples: int = 1000,
) -> list[GapByVerdict]:
    """
    The gap by verdict for each system in *drifted*, which has the drifted turns of its ``pred``.

    Empty for a score that is no mean, since its parts wouldn't add up.
    """
    found = []
    for system, bad in drifted.items():
        gold, pred = (observed.get(Group(system, policy), {}) for policy in ("gold", "pred"))
        turns = sorted(set(gold) & set(pred))
        if not column.is_mean or not turns:
            continue
        clusters, count_of = _clusters(turns, sources)
        sums = np.zeros((count_of, 3))
        for turn, cluster in zip(turns, clusters, strict=True):
            difference = float(gold[turn]) - float(pred[turn])  # type: ignore[arg-type]
            sums[cluster] += (difference * (turn in bad), difference * (turn not in bad), 1)
        weights = cluster_weights(count_of, resamples=resamples, seed=seed)
        drawn = weights @ sums
        on_drifted, on_valid, count = sums.sum(axis=0)
        parts = [
            _part(float(total / count), values / drawn[:, 2], count_of)
            for total, values in (
                (on_drifted + on_valid, drawn[:, 0] + drawn[:, 1]),
                (on_drifted, drawn[:, 0]),
                (on_valid, drawn[:, 1]),
            )
        ]
        found.append(
            GapByVerdict(
                system=system,
                score=score,
                unit=column.unit,
                turns=len(turns),
                drifted_turns=sum(turn in bad for turn in turns),
                gap=parts[0],
                on_drifted=parts[1],
                on_valid=parts[2],
            )
        )
    return found


def _clusters(turns: Sequence[Turn], sources: Mapping[str, str] | None) -> tuple[list[int], int]:
    """The number of each turn's recorded conversation, and how many there are."""
    names = [(sources or {}).get(conversation, conversation) for conversation, _ in turns]
    ids = {name: n for n, name in enumerate(sorted(set(names)))}
    return [ids[name] for name in names], len(ids)


def _means(
    column: ScoreColumn,
    observed: Observed,
    sides: Sequence[Group],
    turns: Sequence[Turn],
    clustered: tuple[list[int], int],
    seed: int,
    resamples: int,
) -> tuple[list[float], np.ndarray[tuple[int, ...], np.dtype[np.float64]], int]:
    """The score of each side over *turns*, also in each resample, and the number of conversations."""
    clusters, count = clustered
    joined = ScoreColumn(
        scorer=column.scorer, observed=[observed[group][turn] for group in sides for turn in turns]
    )
    cells = [list(range(n * len(turns), (n + 1) * len(turns))) for n in range(len(sides))]
    weights = cluster_weights(count, resamples=resamples, seed=seed)
    means = [joined.value(cell) for cell in cells]
    values = resampled_values(joined, cells, clusters=clusters * len(sides), weights=weights)
    return [np.nan if mean is None else mean for mean in means], values, count


def _part(
    value: float, resampled: np.ndarray[tuple[int, ...], np.dtype[np.float64]], conversations: int
) -> Part:
    ends = interval(
        resampled, method="percentile", confidence=CONFIDENCE, conversations=conversations, estimate=value
    )
    known = isinstance(ends, Interval)
    return Part(value=value, low=ends.low if known else None, high=ends.high if known else None)  # type: ignore[union-attr]
