"""
A load run over time, in at most 300 buckets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.statistics.load.asks import Asks, Floats

MOST_BUCKETS = 300
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSeries:
    """
    One value in each column for every bucket, warm-up included; None where nothing happened.

    An ask is counted as sent in the bucket in which it was sent, and everything else about it in the one
    in which it was done.
    """

    bucket_s: float
    start_s: Values
    """When each bucket begins, in seconds since the run's start."""
    sent: tuple[int, ...]
    done: tuple[int, ...]
    """Answers."""
    errors: tuple[int, ...]
    """Asks that ended without an answer."""
    latency_p50_s: Values
    latency_p99_s: Values
    response_p99_s: Values
    ttft_p50_s: Values
    open_conversations: Values
    """On average over the bucket, from their first turn's due moment to the end of their last one."""


def time_series(asks: Asks, bucket_s: float | None = None) -> TimeSeries | None:
    """Return the run in buckets of *bucket_s*, by default the least round length; None if empty."""
    if not len(asks):
        return None
    end = float(asks.done_s.max())
    first = float(min(asks.scheduled_s.min(), asks.sent_s.min(), asks.done_s.min()))
    if bucket_s is None:
        bucket_s = next((s for s in _STEPS_S if _buckets(first, end, s) <= MOST_BUCKETS), None)
        bucket_s = bucket_s or float(np.ceil((end - first) / (MOST_BUCKETS - 1)))
    count = _buckets(first, end, bucket_s)
    origin = int(first // bucket_s)

    def places(moments: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = (moments // bucket_s).astype(np.int64) - origin
        return found

    done_in = places(asks.done_s)
    answered = asks.answered
    edges: Floats = (origin + np.arange(count + 1)) * np.float64(bucket_s)
    by_bucket = np.flatnonzero(answered)[np.argsort(done_in[answered], kind="stable")]
    borders = np.searchsorted(done_in[by_bucket], np.arange(count + 1))

    def quantile(values: Floats, share: float) -> Values:
        ordered = values[by_bucket]
        return tuple(
            _quantile(ordered[borders[bucket] : borders[bucket + 1]], share) for bucket in range(count)
        )

    latency_s = asks.latency_s
    return TimeSeries(
        bucket_s=float(bucket_s),
        start_s=tuple(edges[:-1].tolist()),
        sent=tuple(np.bincount(places(asks.sent_s), minlength=count).tolist()),
        done=tuple(np.bincount(done_in[answered], minlength=count).tolist()),
        errors=tuple(np.bincount(done_in[~answered], minlength=count).tolist()),
        latency_p50_s=quantile(latency_s, 0.5),
        latency_p99_s=quantile(latency_s, 0.99),
        response_p99_s=quantile(asks.response_s, 0.99),
        ttft_p50_s=quantile(asks.ttft_s, 0.5),
        open_conversations=tuple((np.diff(_open_seconds(asks, edges)) / bucket_s).tolist()),
    )


def _buckets(first: float, end: float, bucket_s: float) -> int:
    return int(end // bucket_s) - int(first // bucket_s) + 1


def _quantile(values: Floats, share: float) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.quantile(known, share)) if len(known) else None


def _open_seconds(asks: Asks, moments: Floats) -> Floats:
    """For each moment: the seconds that all conversations together have been open until then."""
    order = np.argsort(asks.conversation, kind="stable")
    firsts = np.flatnonzero(np.diff(asks.conversation[order], prepend=-2))
    begun = np.minimum.reduceat(asks.scheduled_s[order], firsts)
    ended = np.maximum.reduceat(asks.done_s[order], firsts)
    return _seconds_since(begun, moments) - _seconds_since(ended, moments)


def _seconds_since(events: Floats, moments: Floats) -> Floats:
    """For each moment: the sum, over all *events* before it, of the time since."""
    ordered = np.sort(events)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    before = np.searchsorted(ordered, moments)
    passed: Floats = before * moments - sums[before]
    return passed
