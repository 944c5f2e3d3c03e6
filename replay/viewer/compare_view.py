"""*Compare*: two or more runs on the same turns, each against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replay.core.errors import InputError
from replay.report.compare_text import holm_note
from replay.report.curves import styles
from replay.report.pairing import pair_groups
from replay.statistics.changed_checks import ChangedCheck
from replay.statistics.comparison import Comparison, ComparisonSettings, Flip
from replay.statistics.group import Group
from replay.statistics.run_comparison import ComparedPair, ComparisonReport, ScoredRun, comparison_report
from replay.viewer.charts import (
    Chart,
    ChartRow,
    Switches,
    Trace,
    Variant,
    count_cell,
    curve_with_band,
    depth_row,
    layout,
    score_cells,
    switches,
    value_cell,
    with_bands_note,
)
from replay.viewer.numbers import number, p_value, unit_name

MOST_FLIPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRow:
    """A turn that flipped."""

    flip: Flip
    scores: tuple[tuple[str, bool], ...]
    """Names of the scores that flipped, and whether to right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """Two groups and the turns that flipped between them."""

    pair: ComparedPair
    """Without its flips and checks, which can be very many."""
    checks: Mapping[str, tuple[int, Sequence[ChangedCheck]]]
    """What changed by what is said of it: how many checks, and as many of them as a page takes."""
    checks_summary: str
    won: int
    """Turns all of whose flips were to right."""
    lost: int
    flipped: int
    flips: tuple[FlipRow, ...]
    """Of these as many as a page takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareView:
    """One run against the first."""

    names: tuple[str, str]
    pairs: tuple[PairView, ...] = ()
    chart: Chart | None = None
    switches: Switches | None = None
    notes: tuple[str, ...] = ()
    problem: str | None = None
    """Why the two can't be compared."""


def compare_view(first: ScoredRun, second: ScoredRun) -> CompareView:
    """*second* minus *first*, by depth and in all."""
    names = first.name, second.name
    try:
        pairs = pair_groups(first.groups(), second.groups())
        report = comparison_report(first, second, pairs, settings=ComparisonSettings(by_depth=True))
    except InputError as error:
        return CompareView(names=names, problem=str(error))
    groups = list(dict.fromkeys(pair.second for pair in report.pairs))
    scores = list(dict.fromkeys(one.score for pair in report.pairs for one in pair.comparisons))
    return CompareView(
        names=names,
        pairs=tuple(_pair(pair) for pair in report.pairs),
        chart=_chart(report, groups, scores) if scores else None,
        switches=switches(scores, groups),
        notes=tuple(_notes(report)),
    )


def _pair(pair: ComparedPair) -> PairView:
    flips: dict[tuple[str, int], list[tuple[Comparison, Flip]]] = {}
    for one in pair.comparisons:
        for flip in one.flips or ():
            flips.setdefault((flip.conversation, flip.depth), []).append((one, flip))
    rows = [
        FlipRow(flip=found[0][1], scores=tuple((one.score, one.won(flip)) for one, flip in found))
        for _, found in sorted(flips.items())
    ]
    return PairView(
        pair=replace(
            pair, checks=None, comparisons=tuple(replace(one, flips=None) for one in pair.comparisons)
        ),
        checks={
            name: (len(found), found[:MOST_FLIPS])
            for name, found in (pair.checks.changes.items() if pair.checks else ())
        },
        checks_summary=pair.checks.summary if pair.checks else "",
        won=sum(all(better for _, better in row.scores) for row in rows),
        lost=sum(not any(better for _, better in row.scores) for row in rows),
        flipped=len(rows),
        flips=tuple(rows[:MOST_FLIPS]),
    )


def _chart(report: ComparisonReport, groups: Sequence[Group], scores: Sequence[str]) -> Chart:
    looks = styles(groups)
    variants = {}
    for score in scores:
        found = [(p.second, one) for p in report.pairs for one in p.comparisons if one.score == score]
        unit = found[-1][1].unit
        traces: list[Trace] = []
        for group, one in found:
            deep = [row for row in one.rows if row.difference.depth is not None]
            differences = [row.difference for row in deep]
            texts = [
                f"{number(row.difference.value, unit, signed=True)}, p Holm {p_value(row.adjusted_p)}, "
                f"{row.difference.turns:,} turns"
                for row in deep
            ]
            depths = [difference.depth or 0 for difference in differences]
            traces += curve_with_band(group, groups, looks[group], depths, differences, unit, texts)
        name = f"{score}, B minus A ({unit_name(unit) or 'points'})"
        frame = layout(x="turn depth", y=name, unit=unit)
        frame["yaxis"]["zeroline"] = True
        variants[score] = Variant(
            traces=traces,
            layout=frame,
            heads=("System", "Policy", "Depth", "Turns", "A", "B", name, "Low", "High", "p", "p Holm"),
            rows=[row for group, one in found for row in _rows(group, one)],
        )
    return Chart(
        id="difference-by-depth",
        title="Differences by depth",
        note=with_bands_note(
            "Above zero, B scores higher. p Holm is corrected for all depths of these two runs.", len(groups)
        ),
        variants=variants,
        summary="Differences of the two runs by turn depth, one curve for each policy.",
    )


def _rows(group: Group, one: Comparison) -> list[ChartRow]:
    return [
        depth_row(
            group,
            row.difference.depth,
            count_cell(row.difference.turns),
            *(value_cell(side, lambda v: number(v, one.unit)) for side in (row.first, row.second)),
            *score_cells(row.difference, one.unit, signed=True),
            *(value_cell(p, p_value) for p in (row.test.p if row.test else None, row.adjusted_p)),
        )
        for row in one.rows
    ]


def _notes(report: ComparisonReport) -> list[str]:
    said = [f"{name} is not compared: {why}." for name, why in report.left_out.items()]
    for pair in report.pairs:
        for one in pair.comparisons:
            who = f"{pair.second}, {one.score}"
            if one.one_sided:
                said.append(f"{who}: {one.one_sided:,} turns have a score on one side only.")
            if one.unlike:
                said.append(f"{who}: {one.unlike:,} turns have another question or gold answer.")
    said.append(f"p: two-sided permutation test that swaps whole conversations; {holm_note(report)}")
    return list(dict.fromkeys(said))
