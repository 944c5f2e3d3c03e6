"""What comes out of a study, before numbers are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.core.conversation import Conversation
from replay.core.record import TurnRecord
from replay.statistics.people import HumanNumber as HumanNumber, HumanTable as HumanTable
from replay.statistics.rater_agreement import RatedItem


class JudgedTurnKey(NamedTuple):
    """Which turn."""

    system: str
    policy: str
    conversation: str
    depth: int

    @classmethod
    def of(cls, record: TurnRecord) -> JudgedTurnKey:
        """Return the key of the turn of *record*."""
        return cls(record.system, record.policy, record.conversation, record.depth)


class Origin(NamedTuple):
    """Where the records of a system under a policy come from."""

    run: str
    """The run's name."""
    system: str
    """The system's name there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanScore:
    """One person's number for one turn."""

    name: str
    """The column's: ``human_correct``."""
    turn: JudgedTurnKey
    rater: str
    value: float | None
    """None where the person said that it can't be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What people said."""

    records: Sequence[TurnRecord]
    """The turns that were judged, or talked; a talk's conversation has an id of its own."""
    conversations: Sequence[Conversation]
    """Those that the records are of."""
    scores: Sequence[HumanScore] = ()
    origins: Mapping[tuple[str, str], Origin] = field(default_factory=dict)
    """By system and policy, of records that come from runs."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Of scores by name, where it isn't plain from their values: nothing for points on a scale."""
    rated: Mapping[str, Sequence[RatedItem]] = field(default_factory=dict)
    """By score: what raters judged, where one judgement is not about one turn."""
    tables: Sequence[HumanTable] = ()
    """What this preset alone has."""
    data_set: Sequence[Conversation] = field(default_factory=tuple)
    """Live conversations that can be replayed against other systems, with gold answers from validation."""
