"""What a notebook shows of a run: totals, a curve for each score, depth tables and notes."""

from __future__ import annotations

from collections.abc import Sequence

from replay.report.checks_text import group_count_columns
from replay.report.columns import Value
from replay.report.depth_cells import (
    depth_columns,
    gap_columns,
    interval_note,
    latency_lines,
    names_of,
    scale_note,
    total_columns,
)
from replay.report.failure_text import failure_lines
from replay.report.notebook.curve import Point, curves, legend
from replay.report.notebook.html_parts import bullet_list, details, display, heading, table, text
from replay.report.notes import FEW_CONVERSATIONS, notes
from replay.report.passed_checks import without_passed_checks
from replay.report.rewriting_text import conclusions
from replay.scorers.scorer import SHARE
from replay.statistics.depth_row import DepthRow
from replay.statistics.depth_table import DepthTable, GroupTable
from replay.statistics.group import Group
from replay.statistics.run_numbers import Report

MOST_GROUPS = 8
"""Systems and policies with curves and a depth table."""
MOST_SCORES = 8
"""Scores with curves."""
MOST_DEPTHS = 60
"""Turns deeper than this are in the frame alone."""


def run_html(report: Report, *, name: str, folder: str) -> str:
    """*report* of the run called *name* as HTML that needs nothing beside it."""
    report = without_passed_checks(report)
    groups = report.table.groups[:MOST_GROUPS]
    title = heading(f"{name} ({folder})")
    if not groups:
        return display([title, "<p>No turn has been asked yet.</p>", bullet_list(report.remarks)])
    said = [scale_note(report.table), interval_note(report.table), *notes(report)]
    signatures = {name: c.signature for name, c in report.table.columns.items()} | dict(report.signatures)
    return display(
        [
            title,
            table(total_columns(report.table), "All depths"),
            f'<div class="curves">{"".join(_curves(report.table, groups))}</div>',
            legend([one.group for one in groups]) if _deepest(groups) > 1 else "",
            table(gap_columns(report.gaps), f"Against {_baselines(report)}, on the same turns")
            if report.gaps
            else "",
            *(f"<p>{text(one)}</p>" for one in conclusions(report)),
            table(group_count_columns(report.checks), "Checks") if report.checks else "",
            heading("Failures") + bullet_list(failure_lines(report.failures)) if report.failures else "",
            *(_by_depth(one, report.table, is_open=len(groups) == 1) for one in groups),
            bullet_list(_omission_note(report.table)),
            details("Notes", bullet_list(said)),
            details("Signatures", bullet_list(f"{name}: {one}" for name, one in signatures.items())),
        ]
    )


def _baselines(report: Report) -> str:
    return names_of(gap.first.policy for gap in report.gaps)


def _displayed_depths(group: GroupTable) -> list[DepthRow]:
    return [row for row in group.depths if row.depth is not None and row.depth <= MOST_DEPTHS]


def _deepest(groups: Sequence[GroupTable]) -> int:
    return max((row.depth or 0 for one in groups for row in one.depths if row.turns), default=0)


def _curves(table: DepthTable, groups: Sequence[GroupTable]) -> list[str]:
    """For each score, and for the share of invalid questions; a run of single turns has none."""
    if _deepest(groups) < 2:
        return []

    def points(name: str | None) -> dict[Group, list[Point]]:
        return {
            one.group: [
                Point(
                    depth=row.depth or 0,
                    found=Value(row.invalid_share) if name is None else row.scores[name],
                    turns=row.turns,
                    few=row.conversations < FEW_CONVERSATIONS,
                )
                for row in _displayed_depths(one)
            ]
            for one in groups
        }

    scores = list(table.columns)[:MOST_SCORES]
    drawn = [curves(name, table.columns[name].unit, points(name)) for name in scores]
    return [*drawn, curves("invalid questions", SHARE, points(None))]


def _by_depth(group: GroupTable, of: DepthTable, *, is_open: bool) -> str:
    shown = GroupTable(group=group.group, depths=tuple(_displayed_depths(group)), total=group.total)
    name = f"By depth: {group.group}"
    content = table(depth_columns(shown, of), name, under_summary=True) + bullet_list(
        latency_lines(group.total)
    )
    return details(name, content, is_open=is_open)


def _omission_note(of: DepthTable) -> list[str]:
    """What is not shown, and where it is."""
    more = {
        "system and policy pairs": len(of.groups) - MOST_GROUPS,
        "scores without a curve": len(of.columns) - MOST_SCORES,
        f"depths below {MOST_DEPTHS}": _deepest(of.groups) - MOST_DEPTHS,
    }
    said = ", ".join(f"{count:,} more {what}" for what, count in more.items() if count > 0)
    return [f"{said}: run.depth_table() has all."] if said else []
