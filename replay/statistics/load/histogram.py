"""
Durations as a histogram whose size doesn't depend on how many there are: HdrHistogram (Gil Tene,
http://hdrhistogram.org) with three significant digits from 10 us to 1 h.

The layout and the encoded form are those of the package ``hdrhistogram``, so that other tools can read
what a run's database keeps. Counting is done here: only the buckets in use take room (an array would have
30,720 of them for each depth of each policy), and three durations have to be counted at every ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOWEST_S = 1e-5
HIGHEST_S = 3600.0
DIGITS = 3
ERROR = 0.001
"""A quantile lies within this share of the same quantile of the durations themselves."""

_UNITS_PER_S = 100_000_000
"""Ten nanoseconds: 10 us are a thousand of them, which are three digits."""
_LOWEST, _HIGHEST = round(LOWEST_S * _UNITS_PER_S), round(HIGHEST_S * _UNITS_PER_S)
_SUB_BITS = 11
"""Of a duration its 11 leading bits are kept, 2,048 being the least power of two above 2 * 10**3."""


class DurationHistogram:
    """How many durations fell into each bucket; shorter or longer ones than the range count at its ends."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def record(self, duration_s: float) -> None:
        """Count one duration."""
        units = min(max(int(duration_s * _UNITS_PER_S), _LOWEST), _HIGHEST)
        shift = max(0, units.bit_length() - _SUB_BITS)
        self._counts[(shift << (_SUB_BITS - 1)) + (units >> shift)] += 1

    def record_all(self, durations_s: NDArray[np.floating[Any]]) -> None:
        """Count an array of durations; NaN is left out."""
        import numpy as np

        known = durations_s[~np.isnan(durations_s)].astype(np.float64)
        units = np.clip(known * _UNITS_PER_S, _LOWEST, _HIGHEST).astype(np.int64)
        shift = np.maximum(0, np.frexp(units.astype(np.float64))[1] - _SUB_BITS)
        indices, counts = np.unique((shift << (_SUB_BITS - 1)) + (units >> shift), return_counts=True)
        self._counts.update(dict(zip(indices.tolist(), counts.tolist(), strict=True)))

    def merge(self, other: DurationHistogram) -> None:
        """Count all that *other* has counted too."""
        self._counts.update(other._counts)

    @property
    def count(self) -> int:
        """Durations counted."""
        return self._counts.total()

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        """
        Return the quantiles at *shares* (0 to 1), in seconds; None when nothing was counted.

        Between two durations they are interpolated as ``numpy.quantile`` does, so that they differ from
        exact ones by no more than half a bucket.
        """
        import numpy as np

        if not self._counts:
            return None
        middles, counts = self._middles_s()
        ends = np.cumsum(counts)
        positions = np.asarray(shares, dtype=np.float64) * (ends[-1] - 1)
        below = np.floor(positions).astype(np.int64)
        above = np.minimum(below + 1, ends[-1] - 1)
        low, high = (middles[np.searchsorted(ends, each, side="right")] for each in (below, above))
        found: list[float] = (low + (high - low) * (positions - below)).tolist()
        return found

    def mean_s(self) -> float | None:
        """Return the mean, within the same error; None when nothing was counted."""
        import numpy as np

        middles, counts = self._middles_s()
        return float(np.average(middles, weights=counts)) if self._counts else None

    def _middles_s(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the middles of the used buckets in seconds, rising, and the count of each."""
        import numpy as np

        indices = np.array(sorted(self._counts), dtype=np.int64)
        half = 1 << (_SUB_BITS - 1)
        shift = np.maximum(0, indices // half - 1)
        lowest = (indices - shift * half) << shift
        counts = np.array([self._counts[index] for index in indices.tolist()], dtype=np.int64)
        return (lowest + (1 << shift) / 2) / _UNITS_PER_S, counts

    def encode(self) -> str:
        """Return the V2 compressed form of HdrHistogram, in base64."""
        from hdrh.histogram import HdrHistogram

        whole = HdrHistogram(1, _HIGHEST, DIGITS)
        for index, count in self._counts.items():
            whole.record_value(whole.get_value_from_index(index), count)
        encoded: bytes = whole.encode()
        return encoded.decode("ascii")

    @classmethod
    def decode(cls, encoded: str) -> Self:
        """
        Return the histogram that ``encode`` encoded.

        Raises:
            ValueError: *encoded* is not such a histogram.
        """
        import zlib

        from hdrh.codec import HdrCookieException, HdrLengthException
        from hdrh.histogram import HdrHistogram

        try:
            whole = HdrHistogram.decode(encoded)
        except (TypeError, ValueError, zlib.error, HdrCookieException, HdrLengthException) as error:
            raise ValueError(f"not an encoded histogram: {error}") from error
        layout = (whole.lowest_trackable_value, whole.highest_trackable_value, whole.significant_figures)
        if layout != (1, _HIGHEST, DIGITS):
            raise ValueError(f"a histogram of another layout: {layout}, expected {(1, _HIGHEST, DIGITS)}")
        found = cls()
        found._counts.update({index: count for index, count in enumerate(whole.counts) if count})
        return found
