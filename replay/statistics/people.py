"""
What people said in a study, as numbers: one form for the study's pages, for a run that keeps it, for reports.

Plain values, so that whoever shows them needs nothing of the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from replay.core.decoding import convert_to

if TYPE_CHECKING:
    from replay.statistics.estimate import NumberWithInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanNumber:
    """A number with its interval, as far as there is one."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    """Why there is no value, or no interval."""
    unit: str = ""
    """``share`` for one that people read in per cent; it is kept as a share."""


def number_text(found: NumberWithInterval, unit: str = "") -> HumanNumber:
    """Return *found* as plain values for a report."""
    plain = found.to_json()
    return HumanNumber(
        value=plain["value"],
        low=plain["low"],
        high=plain["high"],
        note=plain["undefined"] or plain["no_interval"] or "",
        unit=unit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanTable:
    """A table to show, on the owner's page, on the terminal and in reports."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float | HumanNumber | None]]
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleScore:
    """A score of turns that people judged: the people's own, or an automatic one beside it."""

    unit: str
    signature: str
    by_people: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleRow:
    """The judged turns of one depth, or of all."""

    depth: int | None
    turns: int
    scores: Mapping[str, HumanNumber]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleGroup:
    """One system under one policy."""

    system: str
    policy: str
    rows: Sequence[PeopleRow]
    """Depths that have a judged turn, depth 1 first, then all of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanScores:
    """The numbers of a study."""

    study: str
    raters: int
    """Who finished anything."""
    scores: Mapping[str, PeopleScore] = field(default_factory=dict)
    """By name; the people's first."""
    groups: Sequence[PeopleGroup] = ()
    """All scores on the turns that people judged, and on no others."""
    tables: Sequence[HumanTable] = ()
    """Agreement among raters and with scores, rankings, and what the study's preset has."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the tables were made of, for programs."""

    @property
    def all_tables(self) -> list[HumanTable]:
        """All of it as tables."""
        return [*([self._by_depth()] if self.scores else []), *self.tables]

    def _by_depth(self) -> HumanTable:
        return HumanTable(
            title="Judged turns by depth",
            columns=("system", "policy", "depth", "turns", *self.scores),
            rows=[
                (one.system, one.policy, row.depth or "all", row.turns, *(row.scores[n] for n in self.scores))
                for one in self.groups
                for row in one.rows
            ],
            caption="Every score on the turns that people judged, and no others; of people the mean over "
            "raters. Intervals resample conversations.",
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON, from which ``read_people`` makes the same again."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


def read_people(plain: Any) -> HumanScores:
    """
    Return the scores that ``HumanScores.to_json`` wrote.

    Raises:
        msgspec.ValidationError: *plain* is of another shape.
    """
    return convert_to(plain, HumanScores)
