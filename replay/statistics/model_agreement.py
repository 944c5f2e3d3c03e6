"""
How far scores and people's ratings go together, item by item, system by system and passage by passage.

Pearson's r asks for a straight line, Spearman's rho and Kendall's tau for the same order. Tau is tau-b,
which corrects for ties on both sides (Kendall, *The treatment of ties in ranking problems*, Biometrika
33, 1945); ratings on a scale of five are full of ties. The numbers are scipy's. Intervals are bootstrap
intervals: items are drawn with replacement, or, where several items share a passage, a conversation or a
context, all items of it together.

Rankings, and pairs of systems, follow Li et al., *Ditch the Gold Standard* (ACL 2022), section 5. A metric
can correlate with people over all answers and still put two systems in the wrong order, or put all systems
in the right order and hardly ever be right on a single passage; so all three are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack

import msgspec
import numpy as np
from numpy.typing import NDArray

from replay.statistics.estimate import NumberWithInterval, Sampling, no_number, number, resampling
from replay.statistics.interval import (
    Interval,
    UndefinedNumber,
    ends_of,
    value_or_none,
)

CorrelationName = Literal["pearson", "spearman", "kendall"]
Vector = NDArray[np.float64]
FEW_ITEMS = UndefinedNumber(reason="fewer than two independent items")


def correlations(
    x: Sequence[float],
    y: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    **sampling: Unpack[Sampling],
) -> dict[CorrelationName, NumberWithInterval]:
    """
    Return the three coefficients of *x* and *y*, item by item; all three see the same resamples.

    *clusters* names what each item belongs to; left out, each item stands on its own. Clusters are
    drawn in the order in which they come first.

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(first) != len(second) or (clusters is not None and len(clusters) != len(first)):
        raise ValueError(f"{len(first)} values can't be correlated with {len(second)}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("a value is not finite")
    numbers: dict[Hashable, int] = {}
    names = range(len(first)) if clusters is None else clusters
    drawn = resampling([numbers.setdefault(name, len(numbers)) for name in names], **sampling)
    why = _why_undefined(first, second)
    if why is not None:
        return dict.fromkeys(COEFFICIENTS, no_number(why, len(first), len(numbers)))
    items, of = np.arange(len(first)), np.asarray(drawn.clusters)
    samples = [items, *(np.repeat(items, row[of].astype(int)) for block in drawn.weights for row in block)]
    if drawn.method == "bca":
        samples += [items[of != left_out] for left_out in range(len(numbers))]
    found = {}
    for name, coefficient in COEFFICIENTS.items():
        values = _values(coefficient, first, second, samples)
        one = number(values, range(len(first)), drawn, scale="signed share", undefined=FEW_ITEMS)
        alone = len(numbers) < 2 and isinstance(one.interval, UndefinedNumber)
        found[name] = replace(one, interval=FEW_ITEMS) if alone else one
    return found


def _pearson(x: Vector, y: Vector) -> float:
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1, 1))


def _spearman(x: Vector, y: Vector) -> float:
    from scipy.stats import rankdata

    return _pearson(rankdata(x), rankdata(y))


def _kendall(x: Vector, y: Vector) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(x, y, variant="b").statistic)


COEFFICIENTS: Mapping[CorrelationName, Callable[[Vector, Vector], float]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}


def _why_undefined(x: Vector, y: Vector) -> UndefinedNumber | None:
    if len(x) < 2:
        return UndefinedNumber(reason="fewer than two items")
    for values, name in ((x, "scores"), (y, "ratings")):
        if (values == values[0]).all():
            return UndefinedNumber(reason=f"all {name} are equal")
    return None


def _values(
    coefficient: Callable[[Vector, Vector], float], x: Vector, y: Vector, samples: Sequence[NDArray[Any]]
) -> Vector:
    """Return the coefficient of each sample; NaN if undefined, as for equal ratings."""
    values = np.full(len(samples), np.nan)
    for position, sample in enumerate(samples):
        drawn = x[sample], y[sample]
        if len(sample) and _why_undefined(*drawn) is None:
            values[position] = coefficient(*drawn)
    return values


TIE = 1e-9
"""Means that differ by less are tied: they are the same up to the order of a sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingAgreement:
    """Systems as the metric and as people rank them."""

    by_metric: tuple[tuple[str, ...], ...]
    """Best first; systems in one place are tied."""
    by_humans: tuple[tuple[str, ...], ...]
    same: bool
    kendall: float | UndefinedNumber
    """Kendall's tau-b of the systems' means."""
    pairs: int
    """Pairs of systems that people tell apart."""
    agreeing: int
    """Those of them that the metric puts in the same order."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {**plain, "kendall": value_or_none(self.kendall)}


def ranking_agreement(metric: Mapping[str, float], humans: Mapping[str, float]) -> RankingAgreement:
    """
    Compare the rankings of the systems that both *metric* and *humans* have a mean for; higher is better.

    A pair that people tie names no better system and doesn't count; one that only the metric ties
    counts as not agreeing.
    """
    systems = sorted(metric.keys() & humans.keys())
    pairs = [(a, b) for a, b in combinations(systems, 2) if _better(humans[a], humans[b])]
    tau = correlations([metric[s] for s in systems], [humans[s] for s in systems], resamples=0)["kendall"]
    by_metric, by_humans = (_places({s: means[s] for s in systems}) for means in (metric, humans))
    return RankingAgreement(
        by_metric=by_metric,
        by_humans=by_humans,
        same=by_metric == by_humans,
        kendall=tau.value,
        pairs=len(pairs),
        agreeing=sum(_better(metric[a], metric[b]) == _better(humans[a], humans[b]) for a, b in pairs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseAgreement:
    """Two systems: on how many passages metric and people name the same better one."""

    first: str
    second: str
    passages: int
    """Passages on which both systems have a score and a rating."""
    human_ties: int
    """Those on which people name no better system; left out of the share."""
    metric_ties: int
    """Of the others, those on which the metric names none; they count as not agreeing."""
    agreeing: int
    share: float | UndefinedNumber
    """*agreeing* among the passages without a human tie, in [0, 1]; guessing gives about a half."""
    interval: Interval | UndefinedNumber
    """Wilson's (JASA 22, 1927), with passages as independent cases."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        ends = ends_of(self.interval)
        return {
            "first": self.first,
            "second": self.second,
            "passages": self.passages,
            "human_ties": self.human_ties,
            "metric_ties": self.metric_ties,
            "agreeing": self.agreeing,
            "share": value_or_none(self.share),
            "low": ends["low"],
            "high": ends["high"],
        }


PassageMeans = Mapping[tuple[str, str], tuple[float, float]]
"""By system and passage: the metric's mean and the people's."""


def pairwise_agreement(means: PassageMeans, confidence: float = 0.95) -> list[PairwiseAgreement]:
    """
    Return one entry for each pair of systems, in alphabetical order.

    The source doesn't say what a tie counts as. Here a human tie leaves the passage out, since there is
    no better system to name, and a metric's tie counts against the metric, since it named none.
    """
    systems = sorted({system for system, _ in means})
    passages: dict[str, list[str]] = {system: [] for system in systems}
    for system, passage in sorted(means):
        passages[system].append(passage)
    return [
        _pair(a, b, [p for p in passages[a] if (b, p) in means], means, confidence)
        for a, b in combinations(systems, 2)
    ]


def _pair(
    first: str, second: str, passages: Sequence[str], means: PassageMeans, confidence: float
) -> PairwiseAgreement:
    verdicts = [
        tuple(_better(a, b) for a, b in zip(means[first, p], means[second, p], strict=True)) for p in passages
    ]
    discriminated = [(metric, human) for metric, human in verdicts if human]
    agreeing = sum(metric == human for metric, human in discriminated)
    none = UndefinedNumber(reason="people tell the two apart on no passage")
    return PairwiseAgreement(
        first=first,
        second=second,
        passages=len(passages),
        human_ties=len(passages) - len(discriminated),
        metric_ties=sum(metric == 0 for metric, _ in discriminated),
        agreeing=agreeing,
        share=agreeing / len(discriminated) if discriminated else none,
        interval=_wilson(agreeing, len(discriminated), confidence) if discriminated else none,
    )


def _wilson(cases: int, of: int, confidence: float) -> Interval:
    """
    Unlike p +- z sqrt(p (1 - p)/n) it has a width at 0 and 1 and keeps its coverage for small n (Brown,
    Cai & DasGupta, *Interval estimation for a binomial proportion*, Statistical Science 16, 2001).
    """
    from scipy.stats import binomtest

    # statsmodels' leaves 5.6e-17 in place of 0 of 3; scipy's ends at 0 and 1 are exact.
    ends = binomtest(cases, of).proportion_ci(confidence, method="wilson")
    return Interval(low=float(ends.low), high=float(ends.high))


def _better(a: float, b: float) -> int:
    """1 if *a* is better, -1 if *b* is, 0 for a tie."""
    return 0 if abs(a - b) <= TIE else 1 if a > b else -1


def _places(means: Mapping[str, float]) -> tuple[tuple[str, ...], ...]:
    places: list[list[str]] = []
    for system in sorted(means, key=lambda name: (-means[name], name)):
        if places and not _better(means[places[-1][0]], means[system]):
            places[-1].append(system)
        else:
            places.append([system])
    return tuple(tuple(sorted(place)) for place in places)
