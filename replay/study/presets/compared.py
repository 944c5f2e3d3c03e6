"""Two sides of a comparison, as a task holds them."""

from __future__ import annotations

from typing import Any

import msgspec

from replay.core.history import Exchange
from replay.statistics.group import Group
from replay.study.presets.run_turns import RunTurn


class AnswerSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two that are compared."""

    turns: tuple[RunTurn, ...]
    """The one that is judged, or all of a conversation."""
    before: tuple[Exchange, ...] = ()
    """What its system was shown before the one turn."""

    @property
    def name(self) -> Group:
        record = self.turns[0].record
        return Group(record.system, record.policy)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What was asked and answered."""
        records = [turn.record for turn in self.turns]
        return tuple(Exchange(question=one.asked, answer=one.answer or "") for one in records)

    @property
    def answers(self) -> list[str]:
        return [one.answer for one in self.exchanges]

    @property
    def asked(self) -> tuple[Any, ...]:
        """What its system was asked, and after what."""
        return (self.before, self.turns[0].record.asked)


class ComparedSides(msgspec.Struct, frozen=True, kw_only=True):
    """What a task of this preset holds."""

    first: AnswerSide
    second: AnswerSide
    different: int
    """How often these two systems and policies answered differently where they could be compared."""
    same: int
    """How often word for word the same."""

    def in_order(self, draw: int) -> tuple[AnswerSide, AnswerSide]:
        """A and B, as *draw* wants it."""
        return (self.second, self.first) if draw % 2 else (self.first, self.second)
