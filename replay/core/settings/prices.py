"""
What tokens cost: prices of a system or a judge, and tables of prices by model that users write.

No prices are shipped: they change, and a wrong one is worse than none. So is a guess at what wasn't counted:
without the counts that a price is for there is no cost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replay.core.adapter import ChatReply
from replay.core.errors import Fault, ScenarioError
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
