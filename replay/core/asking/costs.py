"""
What asking a model takes and costs: counted while it goes on and kept with the run, told in words, estimated
without asking anything; and the prices of a system or a judge, or of models in a table that users write.

No prices are shipped: they change, and a wrong one is worse than none. So is a guess at what wasn't counted:
without the counts that a price is for there is no cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replay.core.adapter import ChatReply
from replay.core.errors import AdapterError, Fault, ScenarioError
from replay.core.record import Usage
from replay.core.settings.faults import faults_of
from replay.core.settings.yaml_lines import parse


class Prices(BaseModel):
    """What an endpoint charges, in US dollars per million tokens."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    prompt_usd: float = Field(ge=0)
    """Of prompt tokens."""
    completion_usd: float = Field(ge=0)
    """Of completion tokens."""
    cached_prompt_usd: float | None = Field(default=None, ge=0)
    """Of prompt tokens that the endpoint had in its cache; ``prompt_usd`` when left out."""

    def cost_usd(
        self, prompt_tokens: float, completion_tokens: float, cached_prompt_tokens: float = 0
    ) -> float:
        """Return the price of these tokens in USD; cached tokens are among those of the prompt."""
        cached_usd = self.prompt_usd if self.cached_prompt_usd is None else self.cached_prompt_usd
        cached = min(cached_prompt_tokens, prompt_tokens)
        prompt = (prompt_tokens - cached) * self.prompt_usd + cached * cached_usd
        return (prompt + completion_tokens * self.completion_usd) / 1e6

    def of_usage(self, usage: Usage | None) -> float | None:
        """Return the price of *usage* in USD; None if a count is missing that has a price."""
        if usage is None:
            return None
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        if (prompt is None and self.prompt_usd) or (completion is None and self.completion_usd):
            return None
        return self.cost_usd(prompt or 0, completion or 0, usage.cached_prompt_tokens or 0)


class ListedPrices(Prices):
    """A model's entry in a table."""

    as_of: date | None = None
    """When they were looked up."""
    source: str | None = None
    """Where."""


class _TableFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, ListedPrices]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by a model's name, or a pattern of it."""

    models: Mapping[str, Prices]
    """In the order in which they are tried; ``*`` in a name stands for any characters."""

    def prices_of(self, model: object) -> Prices | None:
        """Return the prices of the first entry that matches the adapter's setting *model*; None for none."""
        if not isinstance(model, str):
            return None
        for pattern, prices in self.models.items():
            if re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), model):
                return prices
        return None


NO_PRICES = PriceTable({})


def read_price_table(path: Path) -> PriceTable:
    """
    Return the table in the YAML (or JSON) file at *path*.

    Raises:
        ScenarioError: it can't be read or has faults; all of them at once.
    """
    source = str(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ScenarioError(source, [Fault(path="", message=f"can't be read: {reason}")]) from error
    value, lines, faults = parse(text)
    if not faults and not isinstance(value, Mapping):
        faults.append(Fault(path="", message="a table of prices is a mapping with models"))
    if faults:
        raise ScenarioError(source, faults)
    try:
        return PriceTable(_TableFile.model_validate(value).models)
    except ValidationError as error:
        found = faults_of(error, _TableFile, value, "")
        raise ScenarioError(source, [replace(one, line=lines.of(one.path)) for one in found]) from error


def cost_usd(reply: ChatReply, prices: Prices | None) -> float | None:
    """Return the cost of *reply* in USD, as the endpoint says or by *prices*; None if neither is known."""
    if reply.cost_usd is not None or prices is None:
        return reply.cost_usd
    return prices.of_usage(reply.usage)


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
