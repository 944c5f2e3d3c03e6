"""
*Compare*: two or more runs on the same turns, each against the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.errors import InputError
from replay.report.pages import figures
from replay.report.pages.charts import Cell, Chart, Row, Switches, Table, Variant, count_cell, text_cell
from replay.report.pages.figures import Trace, band, layout, line, scaled
from replay.report.pages.numbers import number, p_value, unit_name
from replay.report.pairing import pair_groups
from replay.statistics.comparison import ComparedRow, Comparison, Flip
from replay.statistics.group import Group
from replay.statistics.run_comparison import (
    ComparedPair,
    ComparisonReport,
    ComparisonSettings,
    ScoredRun,
    comparison_report,
)

MOST_FLIPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalRow:
    score: str
    unit: str
    turns: int
    first: str
    second: str
    difference: str
    low: str
    high: str
    p: str
    p_holm: str
    is_certain: bool
    """Whether Holm's correction leaves it below .05."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRow:
    flip: Flip
    scores: tuple[tuple[str, bool], ...]
    """Names of the scores that flipped, and whether to right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    first: Group
    second: Group
    conversations: int
    only_first: int
    only_second: int
    changes: tuple[tuple[str, str, str], ...]
    totals: tuple[TotalRow, ...]
    won: int
    lost: int
    flips: tuple[FlipRow, ...]
    more_flips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareView:
    """One run against the first."""

    names: tuple[str, str]
    pairs: tuple[PairView, ...]
    chart: Chart | None
    switches: Switches
    notes: tuple[str, ...]
    problem: str | None = None
    """Why the two can't be compared."""


def compare_view(
    first: ScoredRun, second: ScoredRun, *, flip_at: float = 0.5, resamples: int = 1000
) -> CompareView:
    """*second* minus *first*, by depth and in all."""
    names = first.name, second.name
    none = Switches(metrics=[], systems=[], policies=[])
    try:
        pairs = pair_groups(first.groups(), second.groups())
        settings = ComparisonSettings(by_depth=True, flip_at=flip_at, resamples=resamples)
        report = comparison_report(first, second, pairs, settings=settings)
    except InputError as error:
        return CompareView(names=names, pairs=(), chart=None, switches=none, notes=(), problem=str(error))
    groups = list(dict.fromkeys(pair.second for pair in report.pairs))
    scores = list(dict.fromkeys(one.score for pair in report.pairs for one in pair.comparisons))
    switches = Switches(
        metrics=scores,
        systems=list(dict.fromkeys(group.system for group in groups)),
        policies=list(dict.fromkeys(group.policy for group in groups)),
    )
    return CompareView(
        names=names,
        pairs=tuple(_pair(pair) for pair in report.pairs),
        chart=_chart(report, groups, scores) if scores else None,
        switches=switches,
        notes=tuple(_notes(report)),
    )


def _pair(pair: ComparedPair) -> PairView:
    flips: dict[tuple[str, int], list[tuple[str, Flip]]] = {}
    for one in pair.comparisons:
        for flip in one.flips or ():
            flips.setdefault((flip.conversation, flip.depth), []).append((one.score, flip))
    rows = [
        FlipRow(flip=found[0][1], scores=tuple((score, flip.second > flip.first) for score, flip in found))
        for _, found in sorted(flips.items())
    ]
    won = sum(all(better for _, better in row.scores) for row in rows)
    lost = sum(not any(better for _, better in row.scores) for row in rows)
    return PairView(
        first=pair.first,
        second=pair.second,
        conversations=pair.conversations,
        only_first=pair.only_first,
        only_second=pair.only_second,
        changes=tuple((name, one or "–", other or "–") for name, (one, other) in pair.changes.items()),
        totals=tuple(_total(one) for one in pair.comparisons),
        won=won,
        lost=lost,
        flips=tuple(rows[:MOST_FLIPS]),
        more_flips=max(0, len(rows) - MOST_FLIPS),
    )


def _total(one: Comparison) -> TotalRow:
    row, unit = one.total, one.unit
    return TotalRow(
        score=one.score,
        unit=unit_name(unit),
        turns=row.difference.turns,
        first=number(row.first, unit),
        second=number(row.second, unit),
        difference=number(row.difference.value, unit, signed=True),
        low=number(row.difference.low, unit, signed=True),
        high=number(row.difference.high, unit, signed=True),
        p=p_value(row.test.p if row.test else None),
        p_holm=p_value(row.adjusted_p),
        is_certain=row.adjusted_p is not None and row.adjusted_p < 0.05,
    )


def _chart(report: ComparisonReport, groups: Sequence[Group], scores: Sequence[str]) -> Chart:
    looks = figures.styles(groups)
    variants = {}
    for score in scores:
        traces: list[Trace] = []
        rows: list[Row] = []
        unit = ""
        for pair in report.pairs:
            for one in pair.comparisons:
                if one.score != score:
                    continue
                unit = one.unit
                group = pair.second
                deep = [row for row in one.rows if row.difference.depth is not None]
                depths = [row.difference.depth or 0 for row in deep]
                ends = [[scaled(getattr(r.difference, end), unit) for r in deep] for end in ("low", "high")]
                label = figures.group_label(group, groups)
                texts = [
                    f"{number(r.difference.value, unit, signed=True)}, p Holm {p_value(r.adjusted_p)}, "
                    f"{r.difference.turns:,} turns"
                    for r in deep
                ]
                traces.append(band(group, looks[group], depths, *ends, among=len(groups)))
                traces.append(
                    line(
                        group,
                        label,
                        looks[group],
                        depths,
                        [scaled(r.difference.value, unit) for r in deep],
                        text=texts,
                        hovertemplate=f"{figures.plain(label)}: %{{text}}<extra></extra>",
                    )
                )
                rows += [_chart_row(group, row, unit) for row in one.rows]
        name = f"{score}, B minus A ({unit_name(unit) or 'points'})"
        frame = layout(x="turn depth", y=name, unit=unit)
        frame["yaxis"]["zeroline"] = True
        heads = ("System", "Policy", "Depth", "Turns", "A", "B", name, "Low", "High", "p", "p Holm")
        variants[score] = Variant(
            figure={"data": traces, "layout": frame}, table=Table(heads=heads, rows=tuple(rows))
        )
    return Chart(
        id="difference-by-depth",
        title="Differences by depth",
        note="Above zero, B scores higher. p Holm is corrected for all comparisons on this page.",
        variants=variants,
        summary="Differences of the two runs by turn depth, one curve for each policy.",
    )


def _chart_row(group: Group, row: ComparedRow, unit: str) -> Row:
    d = row.difference
    return Row(
        group=group,
        cells=(
            text_cell(group.system),
            text_cell(group.policy),
            Cell(shown="all" if d.depth is None else str(d.depth), exact=d.depth or "all"),
            count_cell(d.turns),
            Cell(shown=number(row.first, unit), exact=row.first),
            Cell(shown=number(row.second, unit), exact=row.second),
            *(Cell(shown=number(v, unit, signed=True), exact=v) for v in (d.value, d.low, d.high)),
            Cell(shown=p_value(row.test.p if row.test else None), exact=row.test.p if row.test else None),
            Cell(shown=p_value(row.adjusted_p), exact=row.adjusted_p),
        ),
    )


def _notes(report: ComparisonReport) -> list[str]:
    said = [f"{name} is not compared: {why}." for name, why in report.left_out.items()]
    for pair in report.pairs:
        for one in pair.comparisons:
            if one.one_sided:
                said.append(
                    f"{pair.second}, {one.score}: {one.one_sided:,} turns have a score on one side only."
                )
            if one.unlike:
                said.append(
                    f"{pair.second}, {one.score}: {one.unlike:,} turns have another question or gold answer."
                )
    said.append(
        f"p: two-sided permutation test that swaps whole conversations; p Holm: corrected for the "
        f"{report.tests:,} comparisons made."
    )
    return list(dict.fromkeys(said))
