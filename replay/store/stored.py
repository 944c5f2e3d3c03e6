"""What a run's database holds beside records: scores, verdicts and tallies, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from replay.store import schema


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


def stored_score(row: Sequence[Any]) -> StoredScore:
    """Return the score in a row with the score's columns."""
    *key, value, unscored = row
    return StoredScore._make([*key, None if value is None else schema.from_json(value, object), unscored])


def stored_verdict(row: Sequence[Any]) -> StoredVerdict:
    """Return the verdict in a row with the verdict's columns."""
    *key, data = row
    return StoredVerdict._make([*key, schema.from_json(data, object)])
