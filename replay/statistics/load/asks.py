"""
The asks of a load run as columns: what is known of each in a number or two, so that a million of them take
some 70 MB; and the run over time, in at most 300 buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from replay.core.record import Outcome
from replay.statistics.group import Group

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
"""An ask's outcome is its place here."""
ANSWERED = OUTCOMES.index("answered")
SKIPPED = OUTCOMES.index("skipped")
OUTSIDE = -1
"""In place of a level's position: the ask belongs to none."""

GapCounts = Mapping[int, int]
"""How often each gap between two pieces of an answer was seen; gaps in tenths of a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """One entry in every column for each ask that was sent, in any order; NaN for a moment that never was."""

    scheduled_s: Floats
    sent_s: Floats
    first_token_s: Floats
    last_token_s: Floats
    """NaN where the answer came in fewer than two pieces, too."""
    done_s: Floats
    server_s: Floats
    """What the server says that it took; NaN where it says nothing."""
    outcome: Integers
    """Position in ``OUTCOMES``."""
    depth: Integers
    attempts: Integers
    asks: Integers
    """Attempts without retries: more than one where tools were called."""
    tokens: Integers
    """Of the answer; -1 where neither the system nor its pieces say."""
    tokens_are_pieces: Flags
    """The tokens were counted from the pieces of the stream."""
    group: Integers
    """Position in ``groups``."""
    conversation: Integers
    """One number for each conversation as played by one system under one policy."""
    recorded: Integers
    """The conversation's place among those of the data, which are what is resampled."""
    level: Integers
    """The level's position, or ``OUTSIDE``."""
    measured: Flags
    """Due within its level's measured window, not in the warm-up or after its end."""
    groups: tuple[Group, ...]
    recorded_count: int
    gaps: Mapping[tuple[int, int, int], GapCounts] = field(default_factory=dict)
    """Gaps between the pieces of measured answers, by level, group and depth."""

    def __len__(self) -> int:
        return len(self.done_s)

    @property
    def is_answered(self) -> Flags:
        answered: Flags = self.outcome == ANSWERED
        return answered

    @property
    def latency_s(self) -> Floats:
        """Sent to last byte."""
        return self.done_s - self.sent_s

    @property
    def response_s(self) -> Floats:
        """Due to last byte."""
        return self.done_s - self.scheduled_s

    @property
    def ttft_s(self) -> Floats:
        """Sent to first token; NaN where the answer did not come in pieces."""
        return self.first_token_s - self.sent_s

    @property
    def tpot_s(self) -> Floats:
        """
        Time per token after the first, to the last one; NaN without a stream, or without a second token.

        What comes behind the last token (usage, an end mark, a connection that closes late) is no part of it.
        """
        return (self.last_token_s - self.first_token_s) / self._after_the_first

    @property
    def tpot_done_s(self) -> Floats:
        """The same to the last byte."""
        return (self.done_s - self.first_token_s) / self._after_the_first

    @property
    def _after_the_first(self) -> Floats:
        return np.where(self.tokens > 1, self.tokens - 1, np.nan)


class ConversationOrder:
    """What comes before and after what in the conversations of some asks."""

    def __init__(self, asks: Asks) -> None:
        order = np.lexsort((asks.depth, asks.conversation))
        played = asks.conversation[order]
        goes_on = played[1:] == played[:-1]
        is_last = np.ones(len(order), dtype=np.bool_)
        is_last[:-1] = ~goes_on
        self.last: NDArray[np.intp] = order[is_last]
        """Positions of each conversation's last turn."""
        self.before_done_s: Floats = np.full(len(order), -np.inf)
        """When the turn before each was over; minus infinity for first turns."""
        self.before_done_s[order[1:][goes_on]] = asks.done_s[order[:-1][goes_on]]


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
    answered = asks.is_answered
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
