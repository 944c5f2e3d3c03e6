"""
A chart as a page needs it: a figure and a table for each choice of the metric switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.report.pages.figures import Figure
from replay.statistics.group import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value of a table: as shown, and as it goes into a file."""

    shown: str
    exact: Any = None
    """A number, None for nothing known, or the text itself."""
    is_number: bool = True


def text_cell(text: str) -> Cell:
    return Cell(shown=text, exact=text, is_number=False)


def count_cell(count: int | None) -> Cell:
    return Cell(shown="–" if count is None else f"{count:,}", exact=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A table's row; a switch hides it when its group is off."""

    cells: tuple[Cell, ...]
    group: Group | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The numbers behind a figure."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What a chart shows for one choice of the metric switch."""

    figure: Figure
    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure with its heading, its numbers, and what it says to somebody who can't see it."""

    id: str
    title: str
    note: str
    variants: Mapping[str, Variant]
    """By metric; one entry called ``""`` where the switch doesn't matter."""
    summary: str = ""

    @property
    def figures(self) -> dict[str, Figure]:
        return {name: variant.figure for name, variant in self.variants.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What can be chosen on a page with charts."""

    metrics: Sequence[str]
    systems: Sequence[str]
    policies: Sequence[str]
