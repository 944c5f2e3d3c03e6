"""
What asking a model took: counted while it goes on, kept with the run, told in words.

What asking a model would take, found out without asking anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields

from replay.core.adapter import ChatReply
from replay.core.errors import AdapterError


@dataclass(slots=True, kw_only=True)
class AskTally:
    """Counts of one judge, or of whoever else asks a model."""

    verdicts: int = 0
    """Cases that were put to it."""
    unscored: int = 0
    """Those of them without any result."""
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

    def add(self, other: AskTally) -> None:
        """Count what *other* counted, too."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + other.cost_usd
        self.first_failure = self.first_failure or other.first_failure
        self.problems += [problem for problem in other.problems if problem not in self.problems]

    def sentences(self) -> Iterator[str]:
        """Yield sentences on usage, failed asks and problems, for a report's notes."""
        yield f"{_usage_text(self)}."
        if self.failed_asks:
            first = " ".join((self.first_failure or "").split())
            yield f"{self.failed_asks:,} {_asks(self.failed_asks)} failed, the first one: {first[:300]}"
        yield from self.problems


def _usage_text(tally: AskTally) -> str:
    parts = [f"{tally.asks:,} {_asks(tally.asks)} sent"]
    if tally.retries:
        parts.append(f"{tally.retries:,} of them retries")
    if tally.cached:
        parts.append(f"{tally.cached:,} replies reused")
    if tally.prompt_tokens or tally.completion_tokens:
        parts.append(f"{tally.prompt_tokens:,} prompt and {tally.completion_tokens:,} completion tokens")
    if tally.uncounted:
        parts.append(f"{tally.uncounted:,} replies without a token count")
    if tally.cost_usd is not None:
        parts.append(f"{tally.cost_usd:.4f} US dollars")
    return ", ".join(parts)


def _asks(count: int) -> str:
    return "ask" if count == 1 else "asks"


def total(tallies: Iterable[AskTally]) -> AskTally:
    """Return the sum of all *tallies*, as for a run that was resumed."""
    summed = AskTally()
    for one in tallies:
        summed.add(one)
    return summed


_COUNTS = [field.name for field in fields(AskTally) if field.type == "int"]


CHARACTERS_PER_TOKEN = 4
"""Of English text in the vocabularies of common models; other languages take more tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What it would take one judge, or another; tokens and cost are guesses, counts of asks are not."""

    name: str
    cases: int
    """Turns or conversations that it is asked about."""
    settled: int
    """Those that nothing needs to be asked about."""
    asks: int
    """Asks that are sure to be sent, retries aside."""
    asks_at_most: int
    """With all that a reply could lead to: verifications, or JSON that can't be read."""
    cached: int
    """Asks that the cache would answer."""
    prompt_tokens: int
    completion_tokens: int
    """Of the asks that are sure."""
    cost_usd: float | None
    """Of the asks that are sure; None where a model has no prices."""
