"""
A scorer without its code: what a run keeps of one, so that looking at the run runs nothing that it names.

Most scorers are the mean of numbers, or a ratio of sums. When a run is scored, a scorer of the user's own
is tried on what it observed there: where one of the two gives its numbers, the run's observations are
combined that way from then on, with intervals, gaps and comparisons. Where neither does, the numbers that
it made of the run's cells are kept, and these can be shown but not resampled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from replay.core.errors import PluginError, RunError
from replay.core.record import TurnRecord
from replay.scorers.observing import combine
from replay.scorers.reference_score import mean
from replay.scorers.scorer import Scorer, Unscored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Combined = Literal["mean", "ratio", "kept"]
"""
``mean`` of numbers; ``ratio`` of the sums of pairs, as of hits and cases; ``kept``: only the numbers that
the scorer made itself, of the sets of turns that it was asked about.
"""

_TOLERANCE = 1e-9
_DRAWN = 40
"""Random subsets of a run's observations, beside its cells, on which a way to combine is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScorer:
    """A scorer whose observations are made; it combines them without its code."""

    signature: str
    unit: str
    lower_is_better: bool
    combined: Combined = "mean"
    values: Mapping[str, float | None] = field(default_factory=dict)
    """Of ``kept``: by ``digest`` of observations, what they combine to; None where that is not defined."""

    @property
    def is_mean(self) -> bool:
        return self.combined == "mean"

    def observe(self, records: Sequence[TurnRecord]) -> list[Any]:
        """Nothing: that takes the scorer itself, or a judge."""
        return [Unscored(reason="scored by `replay score` alone")] * len(records)

    def combine(self, observed: Iterable[Any]) -> float:
        if self.combined == "mean":
            return mean(observed)
        if self.combined == "ratio":
            return _ratio(list(observed))
        value = self.values.get(digest(observed))
        return math.nan if value is None else value

    def combine_resampled(
        self, observed: Sequence[Any], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import numpy as np

        if self.combined == "kept":
            return np.full(len(weights), np.nan)
        # Means are resampled without asking their scorers, so this is a ratio.
        sums = np.zeros((weights.shape[1], 2))
        np.add.at(sums, np.asarray(clusters, dtype=np.intp), np.asarray(observed, dtype=np.float64))
        above, below = (weights @ sums).T
        ratios = np.full(len(weights), np.nan)
        np.divide(above, below, out=ratios, where=below != 0)
        return ratios


def check_observation(scorer: Scorer[Any], value: Any) -> Any:
    """
    Return *value*, which was stored as an observation of *scorer*.

    Raises:
        RunError: it is none that can be combined.
    """
    fits = _FITS.get(scorer.combined) if isinstance(scorer, StoredScorer) else None
    if fits is None or fits(value):
        return value
    raise RunError(
        f'a stored score of "{scorer.signature:.100}" is {value!r:.100}, which is not what the run says of '
        "this scorer; score the run anew with `replay score`"
    )


def is_kept(scorer: object) -> bool:
    """Return whether there are only the numbers that *scorer* made when the run was scored."""
    return isinstance(scorer, StoredScorer) and scorer.combined == "kept"


def digest(observed: Iterable[Any]) -> str:
    """Return a digest of a set of observations, the same for any order."""
    found = sorted(json.dumps(one, sort_keys=True) for one in observed)
    return blake2b("\n".join(found).encode(), digest_size=16).hexdigest()


def how_combined(scorer: Scorer[Any], cells: Sequence[Sequence[Any]]) -> Combined:
    """
    Return how *scorer*'s numbers can be computed without it, judged by its stored observations.

    *cells* are sets of observations for which a number is shown. Each of them, all together and some random
    subsets have to combine to the same number within 1e-9, or fail where a ratio is not defined.
    """
    every = [value for cell in cells for value in cell]
    ways: dict[Combined, Callable[[Sequence[Any]], float]] = {"mean": mean, "ratio": _ratio}
    for way, number in ways.items():
        if all(map(_FITS[way], every)):
            probes = [*filter(None, (*cells, every)), *_subsets(every), *_varied_probes(way, every)]
            return way if all(_same(_combine_or_nan(scorer, one), number(one)) for one in probes) else "kept"
    return "kept"


def _combine_or_nan(scorer: Scorer[Any], observed: Sequence[Any]) -> float:
    try:
        return combine(scorer, observed)
    except PluginError:  # as of a division by no cases at all
        return math.nan


def _subsets(every: Sequence[Any]) -> list[Sequence[Any]]:
    rng = Random(0)
    sizes = [size for size in (1, 2, 3, 5, min(len(every) // 2, 10_000)) if 0 < size <= len(every)]
    return [rng.sample(every, sizes[number % len(sizes)]) for number in range(_DRAWN if sizes else 0)]


def _varied_probes(way: Combined, every: Sequence[Any]) -> list[Sequence[Any]]:
    """Return made-up observations where all are alike: of zeros a sum is a mean, and so is a median."""
    if not every or any(value != every[0] for value in every):
        return []
    return [[0.0, 0.25, 1.0, 1.0]] if way == "mean" else [[[0, 1], [1, 1], [1, 4]]]


def _same(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def _ratio(pairs: Sequence[Any]) -> float:
    below = math.fsum(pair[1] for pair in pairs)
    return math.fsum(pair[0] for pair in pairs) / below if below else math.nan


def _is_number(value: Any) -> TypeGuard[float]:
    # Larger ones have sums that are no numbers any more.
    return isinstance(value, int | float) and abs(value) < 1e200


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


_FITS: Mapping[Combined, Callable[[Any], bool]] = {"mean": _is_number, "ratio": _is_pair}
