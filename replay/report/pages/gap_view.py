"""*Gold against reality*: what a system's own history costs, and what of it mending the questions repairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.report.columns import Bounded
from replay.report.pages import figures
from replay.report.pages.charts import (
    Chart,
    Row,
    Switches,
    Variant,
    count_cell,
    depth_row,
    score_cells,
    switches,
)
from replay.report.pages.figures import Trace, banded, layout
from replay.report.pages.gap_parts import GapByVerdict, GapParts, Part
from replay.report.pages.numbers import number, unit_name
from replay.report.pages.run_numbers import RunNumbers
from replay.statistics.paired import PairedDifference


@dataclass(frozen=True, slots=True, kw_only=True)
class GapView:
    """The page's content."""

    switches: Switches
    chart: Chart | None
    """None where no system was played under ``gold`` and another policy."""
    parts: tuple[GapParts, ...]
    by_verdict: tuple[GapByVerdict, ...]
    not_judged: int
    """Questions under ``pred`` without a verdict; they stand with the valid ones."""


def gap_view(numbers: RunNumbers) -> GapView:
    """The differences and the parts of a run's gap."""
    gaps = numbers.report.gaps
    return GapView(
        switches=switches((gap.score for gap in gaps), [gap.second for gap in gaps]),
        chart=_chart(gaps) if gaps else None,
        parts=numbers.parts,
        by_verdict=numbers.by_verdict,
        not_judged=sum(
            one.total.not_judged for one in numbers.report.table.groups if one.group.policy == "pred"
        ),
    )


def _chart(gaps: Sequence[PairedDifference]) -> Chart:
    groups = list(dict.fromkeys(gap.second for gap in gaps))
    looks = figures.styles([*groups, *dict.fromkeys(gap.first for gap in gaps)])
    most = max((row.depth or 1 for gap in gaps for row in gap.depths), default=1)
    variants = {}
    for score in dict.fromkeys(gap.score for gap in gaps):
        traces: list[Trace] = []
        rows: list[Row] = []
        chosen = [gap for gap in gaps if gap.score == score]
        unit = chosen[0].unit
        for gap in chosen:
            texts = [f"{_with_ends(r, unit, always=True)}  {r.turns:,} turns" for r in gap.depths]
            depths = [row.depth or 0 for row in gap.depths]
            traces += banded(gap.second, groups, looks[gap.second], depths, gap.depths, unit, texts)
            for row in (*gap.depths, gap.total):
                cells = (
                    count_cell(row.turns),
                    count_cell(row.conversations),
                    *score_cells(row, unit, signed=True),
                )
                rows.append(depth_row(gap.second, row.depth, *cells))
        name = f"{score} minus gold ({unit_name(unit) or 'points'})"
        frame = layout(x="turn depth", y=name, unit=unit)
        frame["yaxis"]["zeroline"] = True
        frame["xaxis"]["dtick"] = figures.tick_step(most)
        heads = ("System", "Policy", "Depth", "Turns", "Conversations", name, "Low", "High")
        variants[score] = Variant(traces=traces, layout=frame, heads=heads, rows=rows)
    return Chart(
        id="gap-by-depth",
        title="Difference from gold, on the same turns",
        note="Below zero, the policy scores lower than the same system with gold answers in its history. "
        "Each difference is over turns that both sides have a score for; whole conversations are resampled.",
        variants=variants,
        summary="Paired differences from the gold policy by turn depth, one curve for each policy.",
    )


def _with_ends(one: Bounded, unit: str, *, always: bool = False) -> str:
    ends = f" [{number(one.low, unit)}, {number(one.high, unit)}]" if always or one.low is not None else ""
    return f"{number(one.value, unit, signed=True)}{ends}"


def part_text(part: Part, unit: str) -> str:
    """A part with its interval, as a table shows it."""
    return _with_ends(part, unit)


def parts_sentence(one: GapParts) -> str:
    """What the three parts mean, in words."""
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


def verdict_sentence(one: GapByVerdict) -> str:
    """What drifted questions make of the gap, in words."""
    share = f"{100 * one.drifted_turns / one.turns:.0f} % of the questions had drifted"
    if not one.gap.is_certain:
        return f"{share}; the gap itself could be chance."
    if one.gap.value <= 0:
        return f"{share}; there is no loss to share out."
    part = one.on_drifted.value / one.gap.value
    rest = "the rest was lost on questions that still meant the same"
    return f"{share} and make up {100 * part:.0f} % of the gap; {rest}."
