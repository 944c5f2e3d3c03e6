"""What asking a model would take, found out without asking anything."""

from __future__ import annotations

from dataclasses import dataclass

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
