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


class StoredCheck(NamedTuple):
    """What became of one check of a turn, or of a conversation's end."""

    conversation: str
    system: str
    policy: str
    depth: int
    """The turn's, be it reached or not; the last one's of the data for a conversation's end."""
    at_end: bool
    """Of the whole conversation."""
    position: int
    """Among its turn's checks, or its conversation's, from 0."""
    kind: str
    called: str | None
    value: Any
    """What was expected, a JSON value."""
    passed: bool | None
    """None where it could not be looked at: the turn was skipped, failed or never reached."""
    reason: str | None
    """Why it could not."""
    evidence: str | None
    """What was found, in words."""


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
    """What a row with the score's columns holds."""
    *key, value, unscored = row
    return StoredScore._make([*key, None if value is None else schema.from_json(value, object), unscored])


def stored_check(row: Sequence[Any]) -> StoredCheck:
    """What a row with the check's columns holds."""
    one = StoredCheck._make(row)
    passed = None if one.passed is None else bool(one.passed)
    value = schema.from_json(one.value, object)
    return one._replace(at_end=bool(one.at_end), passed=passed, value=value)


def stored_verdict(row: Sequence[Any]) -> StoredVerdict:
    """What a row with the verdict's columns holds."""
    *key, data = row
    return StoredVerdict._make([*key, schema.from_json(data, object)])
