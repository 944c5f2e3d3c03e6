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
from dataclasses import dataclass, field
from typing import Any

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


Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One score of a run, to be taken apart."""

    score: str
    column: ScoreColumn
    """Has the scorer; its observations are *observed*."""
    observed: Mapping[Group, Mapping[Turn, Any]]
    """Of scored turns."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The recorded conversation of plays that have an id of their own: those are drawn together."""
    seed: int
    resamples: int = 1000

    def parts(self) -> list[GapParts]:
        """For each system that has ``gold``, ``pred`` and a mending policy."""
        found = []
        for mended in self.observed:
            sides = [Group(mended.system, "gold"), Group(mended.system, "pred"), mended]
            is_mending = mended.policy.partition("(")[0] in MENDING
            if not is_mending or any(group not in self.observed for group in sides):
                continue
            turns = sorted(set.intersection(*(set(self.observed[group]) for group in sides)))
            if not turns:
                continue
            clusters, conversations = self._clusters(turns)
            gold, pred, other = self._means(sides, turns, clusters, conversations)
            found.append(
                GapParts(
                    system=mended.system,
                    score=self.score,
                    unit=self.column.unit,
                    mended_by=mended.policy,
                    turns=len(turns),
                    conversations=conversations,
                    means=(gold[0], pred[0], other[0]),
                    gap=_difference(gold, pred, conversations),
                    repaired=_difference(other, pred, conversations),
                    left=_difference(gold, other, conversations),
                )
            )
        return found

    def by_verdict(self, drifted: Mapping[str, set[Turn]]) -> list[GapByVerdict]:
        """
        For each system in *drifted*, which has the drifted turns of its ``pred``.

        Empty for a score that is no mean, since its parts wouldn't add up.
        """
        found = []
        for system, bad in drifted.items():
            gold, pred = (self.observed.get(Group(system, policy), {}) for policy in ("gold", "pred"))
            turns = sorted(set(gold) & set(pred))
            if not self.column.is_mean or not turns:
                continue
            clusters, conversations = self._clusters(turns)
            sums = np.zeros((conversations, 3))
            for turn, cluster in zip(turns, clusters, strict=True):
                difference = float(gold[turn]) - float(pred[turn])
                sums[cluster] += (difference * (turn in bad), difference * (turn not in bad), 1)
            drawn = cluster_weights(conversations, resamples=self.resamples, seed=self.seed) @ sums
            on_drifted, on_valid, count = sums.sum(axis=0)
            parts = [
                _part(float(total / count), values / drawn[:, 2], conversations)
                for total, values in (
                    (on_drifted + on_valid, drawn[:, 0] + drawn[:, 1]),
                    (on_drifted, drawn[:, 0]),
                    (on_valid, drawn[:, 1]),
                )
            ]
            found.append(
                GapByVerdict(
                    system=system,
                    score=self.score,
                    unit=self.column.unit,
                    turns=len(turns),
                    drifted_turns=sum(turn in bad for turn in turns),
                    gap=parts[0],
                    on_drifted=parts[1],
                    on_valid=parts[2],
                )
            )
        return found

    def _clusters(self, turns: Sequence[Turn]) -> tuple[list[int], int]:
        """The number of each turn's recorded conversation, and how many there are."""
        names = [self.sources.get(conversation, conversation) for conversation, _ in turns]
        ids = {name: n for n, name in enumerate(sorted(set(names)))}
        return [ids[name] for name in names], len(ids)

    def _means(
        self, sides: Sequence[Group], turns: Sequence[Turn], clusters: list[int], conversations: int
    ) -> list[tuple[float, Floats]]:
        """The score of each side over *turns*, and that in each resample."""
        observed = [self.observed[group][turn] for group in sides for turn in turns]
        joined = ScoreColumn(scorer=self.column.scorer, observed=observed)
        cells = [list(range(n * len(turns), (n + 1) * len(turns))) for n in range(len(sides))]
        weights = cluster_weights(conversations, resamples=self.resamples, seed=self.seed)
        values = resampled_values(joined, cells, clusters=clusters * len(sides), weights=weights)
        means = [joined.value(cell) for cell in cells]
        return [(np.nan if mean is None else mean, values[:, n]) for n, mean in enumerate(means)]


def _difference(one: tuple[float, Floats], other: tuple[float, Floats], conversations: int) -> Part:
    return _part(one[0] - other[0], one[1] - other[1], conversations)


def _part(value: float, resampled: Floats, conversations: int) -> Part:
    ends = interval(
        resampled, method="percentile", confidence=CONFIDENCE, conversations=conversations, estimate=value
    )
    known = isinstance(ends, Interval)
    return Part(value=value, low=ends.low if known else None, high=ends.high if known else None)  # type: ignore[union-attr]
