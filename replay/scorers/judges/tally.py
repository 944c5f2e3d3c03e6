"""
What judging took and how sure it is of itself: counted while it goes on, kept with the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replay.core.adapter import ChatReply
from replay.core.errors import AdapterError


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of one judge."""

    verdicts: int = 0
    """Cases that were put to the judge."""
    unscored: int = 0
    """Those of them without any value."""
    asks: int = 0
    """Asks sent, retries included."""
    retries: int = 0
    failed_asks: int = 0
    """Asks given up without a reply."""
    cached: int = 0
    """Replies that were there already: in the cache, or given to the same question before."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Of the replies that were not cached, as the endpoints counted them."""
    uncounted: int = 0
    """Replies without a token count."""
    cost_usd: float | None = None
    """None where neither the endpoint nor the settings give a price."""
    first_failure: str | None = None
    """The first failed ask in the adapter's own words."""
    problems: list[str] = field(default_factory=list)
    """What else a reader should know, such as a cache that can't be used."""

    def replied(self, reply: ChatReply, cost_usd: float | None) -> None:
        """Count a reply that was asked for."""
        usage = reply.usage
        if usage is None or (usage.prompt_tokens is None and usage.completion_tokens is None):
            self.uncounted += 1
        else:
            self.prompt_tokens += usage.prompt_tokens or 0
            self.completion_tokens += usage.completion_tokens or 0
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def sent(self, attempt: int) -> None:
        """Count an ask."""
        self.asks += 1
        self.retries += attempt > 1

    def failed(self, attempt: int, error: AdapterError, pause_s: float | None) -> None:
        """Count an ask that is not tried again."""
        if pause_s is None:
            self.gave_up(str(error))

    def gave_up(self, message: str) -> None:
        """Count a failed ask."""
        self.failed_asks += 1
        self.first_failure = self.first_failure or message


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far a judge's repeats lie apart."""

    turns: int
    """Turns that have a value in every repeat; only they are compared."""
    means: tuple[float, ...]
    """The mean over those turns, repeat by repeat."""
    std: float
    """Standard deviation of the means (n - 1)."""
    low: float
    high: float
    turn_std: float
    """Standard deviation of a turn's own values, averaged over the turns."""


def spread_of(values: Sequence[Sequence[float | None]]) -> Spread | None:
    """
    The spread of *values*, one sequence per turn with a value (or None) per repeat.

    None without a turn that has all its values, or with fewer than two repeats.
    """
    whole = [[v for v in turn if v is not None] for turn in values if all(v is not None for v in turn)]
    repeats = len(whole[0]) if whole else 0
    if repeats < 2:
        return None
    means = tuple(math.fsum(turn[n] for turn in whole) / len(whole) for n in range(repeats))
    return Spread(
        turns=len(whole),
        means=means,
        std=_std(means),
        low=min(means),
        high=max(means),
        turn_std=math.fsum(map(_std, whole)) / len(whole),
    )


def _std(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a run keeps of one judge beside the verdicts."""

    name: str
    signature: str
    units: Mapping[str, str]
    """What each of its columns counts in, in the order of the columns."""
    tally: Tally = field(default_factory=Tally)
    spread: Mapping[str, Spread] = field(default_factory=dict)
    """By column; empty with a single repeat."""
