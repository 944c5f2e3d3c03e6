"""A chart as a page needs it: a figure and a table for each choice of the metric switch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.report.columns import IntervalValue
from replay.statistics.group import Group
from replay.viewer.figures import Figure, Trace
from replay.viewer.numbers import NONE, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value of a table: as shown, and as it goes into a file."""

    shown: str
    exact: Any = None
    """A number, None for nothing known, or the text itself."""
    is_number: bool = True


def text_cell(text: str) -> Cell:
    return Cell(shown=text, exact=text, is_number=False)


def value_cell(value: Any, show: Callable[[Any], str]) -> Cell:
    return Cell(shown=NONE if value is None else show(value), exact=value)


def count_cell(count: int | None) -> Cell:
    return value_cell(count, "{:,}".format)


def score_cells(one: IntervalValue, unit: str, *, signed: bool = False) -> tuple[Cell, ...]:
    """Value, low and high."""
    return tuple(
        value_cell(v, lambda v: number(v, unit, signed=signed)) for v in (one.value, one.low, one.high)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """A table's row; a switch hides it when its group is off."""

    cells: tuple[Cell, ...]
    group: Group | None = None


def depth_row(group: Group, depth: int | None, *cells: Cell) -> ChartRow:
    """A row that begins with system, policy and depth."""
    at = Cell(shown="all" if depth is None else str(depth), exact=depth or "all")
    return ChartRow(group=group, cells=(text_cell(group.system), text_cell(group.policy), at, *cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What a chart shows for one choice of the metric switch, and the numbers behind it."""

    traces: Sequence[Trace]
    layout: Mapping[str, Any]
    heads: tuple[str, ...]
    rows: Sequence[ChartRow]


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
        return {name: {"data": one.traces, "layout": one.layout} for name, one in self.variants.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What can be chosen on a page with charts."""

    metrics: Sequence[str]
    systems: Sequence[str]
    policies: Sequence[str]


def switches(metrics: Iterable[str], groups: Sequence[Group]) -> Switches:
    """One for each of several *metrics*, and of *groups*' systems and policies."""
    return Switches(
        metrics=list(dict.fromkeys(metrics)),
        systems=list(dict.fromkeys(group.system for group in groups)),
        policies=list(dict.fromkeys(group.policy for group in groups)),
    )
