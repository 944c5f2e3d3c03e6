"""*People*: what people said of the turns in a study, beside the scores of the same turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.report.charts import (
    Cell,
    Chart,
    ChartRow,
    Switches,
    Trace,
    Variant,
    count_cell,
    curve_with_band,
    depth_row,
    group_label,
    hover,
    layout,
    line,
    score_cells,
    styles,
    switches,
    text_cell,
    to_percent,
    value_cell,
    with_bands_note,
)
from replay.report.numbers import NONE, number, with_unit
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group
from replay.statistics.people import HumanNumber, HumanScores, HumanTable, PeopleRow, PeopleScore


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleView:
    """The page's content."""

    people: HumanScores
    switches: Switches
    chart: Chart | None
    """None where the study has no scores of turns."""

    def rows(self, table: HumanTable) -> list[ChartRow]:
        """Return the rows of a table of the study, as pages show them."""
        return [ChartRow(cells=tuple(map(_cell, row))) for row in table.rows]


def people_view(people: HumanScores | None) -> PeopleView | None:
    """Return the view of *people*'s scores; None if the run does not come from a study."""
    if people is None:
        return None
    groups = [Group(one.system, one.policy) for one in people.groups]
    variants = {
        f"{name}, {beside}" if beside else name: _variant(people, groups, name, beside)
        for name, one in people.scores.items()
        if one.by_people
        for beside in _beside(one, people)
    }
    chart = Chart(
        id="people-by-depth",
        title="People and scores by depth",
        note=with_bands_note(
            "On the turns that people judged, and no others. Thick lines are people, with intervals over "
            "conversations; thin dotted ones the score.",
            len(groups),
        ),
        variants=variants,
        summary="People's scores by turn depth, one curve per system and policy, and an automatic "
        "score beside each; the table below has the numbers.",
    )
    return PeopleView(
        people=people,
        switches=switches(variants, groups),
        chart=chart if variants else None,
    )


def _beside(score: PeopleScore, people: HumanScores) -> Sequence[str]:
    """Return the scores to draw beside one of people's, each in its turn: those that count in the same."""
    return [n for n, one in people.scores.items() if not one.by_people and one.unit == score.unit] or [""]


def _variant(people: HumanScores, groups: Sequence[Group], name: str, beside: str) -> Variant:
    looks, unit = styles(groups), people.scores[name].unit
    traces: list[Trace] = []
    rows: list[ChartRow] = []
    for group, one in zip(groups, people.groups, strict=True):
        by_depth = [row for row in one.rows if row.depth is not None]
        depths = [row.depth for row in by_depth if row.depth is not None]
        found = [row.scores[name] for row in by_depth]
        texts = [f"{_cell(row.scores[name]).shown}, {row.turns:,} turns" for row in by_depth]
        traces += curve_with_band(group, groups, looks[group], depths, found, unit, texts)
        if beside:
            label = f"{group_label(group, groups)}, {beside}"
            values = [to_percent(row.scores[beside].value, unit) for row in by_depth]
            trace = line(group, label, looks[group], depths, values, hovertemplate=hover(label, "%{y:.4~g}"))
            trace["line"] |= {"dash": "dot", "width": 1.5}
            trace["marker"] |= {"symbol": f"{looks[group].marker}-open"}
            traces.append(trace)
        rows += [_row(group, row, name, beside, unit) for row in one.rows]
    heads = ("System", "Policy", "Depth", "Turns", with_unit(name, unit), "Low", "High")
    return Variant(
        traces=traces,
        layout=layout(x="turn depth", y=with_unit("mean", unit), unit=unit, from_zero=unit == SHARE),
        heads=(*heads, *((with_unit(beside, unit), "Low", "High") if beside else ())),
        rows=rows,
    )


def _row(group: Group, row: PeopleRow, name: str, beside: str, unit: str) -> ChartRow:
    other = score_cells(row.scores[beside], unit) if beside else ()
    return depth_row(group, row.depth, count_cell(row.turns), *score_cells(row.scores[name], unit), *other)


def _cell(cell: str | int | float | HumanNumber | None) -> Cell:
    if isinstance(cell, str):
        # Of all depths, below their numbers.
        return Cell(shown=cell, exact=cell) if cell == "all" else text_cell(cell)
    if isinstance(cell, int) or cell is None:
        return count_cell(cell)
    if isinstance(cell, float):
        return value_cell(cell, lambda value: number(value, ""))
    if cell.value is None:
        return Cell(shown=f"{NONE} ({cell.note})" if cell.note else NONE)
    unit = " %" if cell.unit == SHARE else ""
    ends = [number(end, cell.unit) for end in (cell.low, cell.high) if end is not None]
    between = f" [{', '.join(ends)}]" if len(ends) == 2 else ""
    return Cell(shown=f"{number(cell.value, cell.unit)}{unit}{between}", exact=cell.value)
