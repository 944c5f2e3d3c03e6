"""
*Gold against reality*: what a system's own history costs, and what of it mending the questions repairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.report.pages import figures
from replay.report.pages.charts import Cell, Chart, Row, Switches, Table, Variant, count_cell, text_cell
from replay.report.pages.figures import band, group_label, layout, line, scaled
from replay.report.pages.gap_parts import GapByVerdict, GapParts, Part
from replay.report.pages.numbers import number, unit_name
from replay.report.pages.run_numbers import RunNumbers
from replay.statistics.paired import PairedDifference


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsRow:
    """One mending policy of one system, in one score."""

    parts: GapParts
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """The same gap by verdict."""

    by: GapByVerdict
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GapView:
    """The page's content."""

    switches: Switches
    chart: Chart | None
    """None where no system was played under ``gold`` and another policy."""
    parts: tuple[PartsRow, ...]
    by_verdict: tuple[VerdictRow, ...]


def gap_view(numbers: RunNumbers) -> GapView:
    """The differences and the parts of a run's gap."""
    gaps = numbers.report.gaps
    return GapView(
        switches=Switches(
            metrics=list(dict.fromkeys(gap.score for gap in gaps)),
            systems=list(dict.fromkeys(gap.second.system for gap in gaps)),
            policies=list(dict.fromkeys(gap.second.policy for gap in gaps)),
        ),
        chart=_chart(gaps) if gaps else None,
        parts=tuple(PartsRow(parts=one, sentence=_parts_sentence(one)) for one in numbers.parts),
        by_verdict=tuple(VerdictRow(by=one, sentence=_verdict_sentence(one)) for one in numbers.by_verdict),
    )


def _chart(gaps: Sequence[PairedDifference]) -> Chart:
    groups = list(dict.fromkeys(gap.second for gap in gaps))
    looks = figures.styles([*groups, *dict.fromkeys(gap.first for gap in gaps)])
    variants = {}
    for score in dict.fromkeys(gap.score for gap in gaps):
        traces, cells, unit = [], [], ""
        for gap in gaps:
            if gap.score != score:
                continue
            unit, group = gap.unit, gap.second
            label, style = group_label(group, groups), looks[group]
            depths = [row.depth or 0 for row in gap.depths]
            ends = [[scaled(getattr(row, end), unit) for row in gap.depths] for end in ("low", "high")]
            texts = [
                f"{number(r.value, unit, signed=True)} [{number(r.low, unit)}, {number(r.high, unit)}]"
                f"  {r.turns:,} turns"
                for r in gap.depths
            ]
            traces.append(band(group, style, depths, *ends, among=len(groups)))
            traces.append(
                line(
                    group,
                    label,
                    style,
                    depths,
                    [scaled(row.value, unit) for row in gap.depths],
                    text=texts,
                    hovertemplate=f"{figures.plain(label)}: %{{text}}<extra></extra>",
                )
            )
            for row in (*gap.depths, gap.total):
                parts = (
                    text_cell(group.system),
                    text_cell(group.policy),
                    Cell(shown="all" if row.depth is None else str(row.depth), exact=row.depth or "all"),
                    count_cell(row.turns),
                    count_cell(row.conversations),
                    *(
                        Cell(shown=number(value, unit, signed=True), exact=value)
                        for value in (row.value, row.low, row.high)
                    ),
                )
                cells.append(Row(group=group, cells=parts))
        name = f"{score} minus gold ({unit_name(unit) or 'points'})"
        frame = layout(x="turn depth", y=name, unit=unit, height=420)
        frame["yaxis"] = {**frame["yaxis"], "zeroline": True}
        most = max((row.depth or 1 for gap in gaps for row in gap.depths), default=1)
        frame["xaxis"] = {**frame["xaxis"], "dtick": figures.tick_step(most)}
        heads = ("System", "Policy", "Depth", "Turns", "Conversations", name, "Low", "High")
        variants[score] = Variant(
            figure={"data": traces, "layout": frame}, table=Table(heads=heads, rows=tuple(cells))
        )
    return Chart(
        id="gap-by-depth",
        title="Difference from gold, on the same turns",
        note="Below zero, the policy scores lower than the same system with gold answers in its history. "
        "Each difference is over turns that both sides have a score for; whole conversations are resampled.",
        variants=variants,
        summary="Paired differences from the gold policy by turn depth, one curve for each policy.",
    )


def _points(part: Part, unit: str) -> str:
    ends = "" if part.low is None else f" [{number(part.low, unit)}, {number(part.high, unit)}]"
    return f"{number(part.value, unit, signed=True)}{ends}"


def _parts_sentence(one: GapParts) -> str:
    if not one.gap.is_certain:
        return "The gap itself could be chance: its interval holds 0. Read nothing into its parts."
    if one.gap.value < 0:
        return (
            "The system scores higher over its own answers than over gold ones; there is no loss to repair."
        )
    if not one.repaired.is_certain:
        said = f"Whether {one.mended_by} repairs any of the gap can't be told: that interval holds 0."
    elif one.repaired.value < 0:
        said = f"{one.mended_by} makes it worse on these turns."
    else:
        share = one.repaired.value / one.gap.value
        said = f"{one.mended_by} repairs {100 * share:.0f} % of the gap: that much was drift."
    if one.left.is_certain and one.left.value > 0:
        said += " The rest is wrong answers, and what no mended question can repair."
    return said


def _verdict_sentence(one: GapByVerdict) -> str:
    share = f"{100 * one.drifted_turns / one.turns:.0f} % of the questions had drifted"
    if not one.gap.is_certain:
        return f"{share}; the gap itself could be chance."
    if one.gap.value <= 0:
        return f"{share}; there is no loss to share out."
    part = one.on_drifted.value / one.gap.value
    rest = "the rest was lost on questions that still meant the same"
    return f"{share} and make up {100 * part:.0f} % of the gap; {rest}."


def part_text(part: Part, unit: str) -> str:
    """A part with its interval, as a table shows it."""
    return _points(part, unit)
