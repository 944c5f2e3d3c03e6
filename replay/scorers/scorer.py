"""
The protocol of a scorer: per-turn observations, and how any set of them becomes one number.

``observe`` does the costly part once per turn; ``combine`` is cheap and takes any subset or resample,
so that one pass gives the total, each depth, each system and every bootstrap sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from replay.core.record import TurnRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]
    Vector = NDArray[np.float64]


S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscored:
    """Why a turn has no score: never 0, never NaN, never silently dropped."""

    reason: str


@runtime_checkable
class Scorer(Protocol[S]):
    """One metric. *S* is a JSON value: the statistic kept for each turn."""

    def observe(self, records: Sequence[TurnRecord]) -> Sequence[S | Unscored]:
        """Return one observation per record, in order; batched, and independent of the batch."""
        ...

    def combine(self, observed: Iterable[S]) -> float:
        """
        Return the metric over any non-empty multiset of observations, independent of their order.

        NaN where the metric isn't defined over them, as precision is not where nothing was predicted.

        Raises:
            ValueError: *observed* is empty.
        """
        ...

    @property
    def signature(self) -> str:
        """Every setting that can move the number, as in ``f1:squad+cjk+max``."""
        ...


@runtime_checkable
class MeanScorer(Protocol):
    """
    Marks a scorer whose observations are floats and whose ``combine`` is their mean.

    Its bootstrap is then a matrix product instead of a thousand calls of ``combine``.
    """

    @property
    def is_mean(self) -> bool: ...


@runtime_checkable
class ResampledScorer(Protocol[S_contra]):
    """Marks a scorer that is no mean but combines all resamples of a bootstrap at once."""

    def combine_resampled(
        self, observed: Sequence[S_contra], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """
        Return what ``combine`` returns for each resample, up to rounding.

        Args:
            observed: The observations.
            clusters: For each observation the index of its cluster.
            weights: Shape (resamples, clusters): observation i occurs ``weights[r, clusters[i]]`` times in
                resample r.

        Returns:
            Shape (resamples,). NaN if a resample has no observation, or the metric isn't defined for it.
        """
        ...


@runtime_checkable
class CorpusScorer(Protocol):
    """Marks a scorer whose observation of one record depends on other records of the run."""

    def survey(self, records: Sequence[TurnRecord]) -> Scorer[Any]:
        """
        Return the same scorer, having also seen *records*.

        Before a run is observed part by part, it is surveyed part by part, as a whole. A scorer that was
        not surveyed takes the records that it is to observe for the whole run.
        """
        ...


@runtime_checkable
class UnitScorer(Protocol):
    """Marks a scorer whose number is not a share."""

    @property
    def unit(self) -> str:
        """``share``, which people read in per cent, ``s``, ``tokens``, ``usd``, ...; empty for none."""
        ...


@runtime_checkable
class CheckedScorer(Protocol):
    """Marks a scorer that can say before a run whether it will be able to score it."""

    def check_installed(self) -> None:
        """
        Return if everything that ``observe`` imports is there; imports nothing itself.

        Raises:
            PluginError: something is missing; the message says how to install it.
        """
        ...


@runtime_checkable
class NeuralScorer(Protocol):
    """
    Marks a scorer that may have a model observe: where a run has a cluster, its nodes do that.

    It travels there as a pickle; what it loads is best loaded by ``observe``.
    """

    @property
    def is_neural(self) -> bool: ...


@runtime_checkable
class DirectedScorer(Protocol):
    """Marks a scorer that says itself whether less of it is better, instead of its unit."""

    @property
    def lower_is_better(self) -> bool: ...


SHARE = "share"
"""The unit of a scorer that names none."""


COSTS = ("s", "tokens", "usd")
"""Units of which less is better."""


def unit_of(scorer: object) -> str:
    """Return the unit that *scorer* counts in."""
    return scorer.unit if isinstance(scorer, UnitScorer) else SHARE


def is_neural(scorer: object) -> bool:
    """Return whether *scorer* has a model observe."""
    return isinstance(scorer, NeuralScorer) and scorer.is_neural


def lower_is_better(scorer: object) -> bool:
    """Return whether less of *scorer* is better: as it says, or else by its unit."""
    return scorer.lower_is_better if isinstance(scorer, DirectedScorer) else unit_of(scorer) in COSTS


def resampled_sums(
    statistics: Sequence[Sequence[float]], clusters: Sequence[int], weights: Matrix
) -> tuple[Matrix, Vector]:
    """
    Return the added-up *statistics* of each resample, shape (resamples, statistics), and how many were added.

    Row i of *statistics* belongs to cluster ``clusters[i]`` and counts ``weights[r, clusters[i]]`` times
    in resample r.
    """
    import numpy as np

    rows = np.column_stack([np.asarray(statistics, dtype=np.float64), np.ones(len(statistics))])
    by_cluster = np.zeros((weights.shape[1], rows.shape[1]))
    np.add.at(by_cluster, np.asarray(clusters), rows)
    totals = weights @ by_cluster
    return totals[:, :-1], totals[:, -1]


def resampled_shares(part: Vector, whole: Vector) -> Vector:
    """Return *part* by *whole*; NaN where a resample has nothing to take a share of."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        shares: Vector = part / whole
    return shares
