"""What a run's database holds beside records: scores, verdicts and tallies, as rows."""

from __future__ import annotations

from typing import Any, NamedTuple


class StoredScore(NamedTuple):
    """One turn's observation, or why there is none."""

    conversation: str
    system: str
    policy: str
    depth: int
    value: Any
    unscored: str | None


class StoredVerdict(NamedTuple):
    """A judge's verdict on one turn, or on the conversation that ends with it."""

    judge: str
    conversation: str
    system: str
    policy: str
    depth: int
    asks: int
    cached: int
    cost_usd: float | None
    data: Any
    """``values`` by column, ``repeats`` with their votes, and the texts of the ``prompts`` by hash."""


class StoredTally(NamedTuple):
    """Turns of a load run that were counted, not kept one by one."""

    level: int
    system: str
    policy: str
    depth: int
    data: Any
    """``turns``, ``outcomes`` by name, and the encoded histograms ``latency``, ``response``, ``ttft``."""
