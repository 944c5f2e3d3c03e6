"""What a notebook shows of a comparison: what a build fails on, a table and curves for each pair, notes."""

from __future__ import annotations

from collections.abc import Sequence

from replay.report.columns import LAYOUTS
from replay.report.compare_text import comparison_columns, comparison_notes
from replay.report.notebook.curve import Point, curves, legend
from replay.report.notebook.html_parts import bullet_list, details, display, heading, table, text
from replay.report.notebook.run_display import MOST_GROUPS, MOST_SCORES
from replay.report.notes import FEW_CONVERSATIONS
from replay.report.rewriting_text import change_sentence
from replay.statistics.run_comparison import ComparedPair, ComparisonReport


def comparison_html(report: ComparisonReport, *, gate: Sequence[str] = ()) -> str:
    """*report* as HTML that needs nothing beside it; first *gate*, lines on what a build fails on."""
    first, second = report.runs
    pairs = report.pairs[:MOST_GROUPS]
    more = len(report.pairs) - len(pairs)
    return display(
        [
            heading(f"A: {first}" if first == second else f"A: {first}, B: {second}"),
            bullet_list(gate),
            *(_pair(pair) for pair in pairs),
            _curves(pairs),
            bullet_list([f"{more:,} more pairs: comparison.to_frame() has all."] if more > 0 else []),
            details("Notes", bullet_list(comparison_notes(report))),
        ]
    )


def _pair(pair: ComparedPair) -> str:
    caption = f"{pair.second} (B) minus {pair.first} (A), on the same turns"
    return (
        table(comparison_columns(pair, LAYOUTS[0]), caption)
        + f"<p>{text(change_sentence(pair))}</p>"
        + bullet_list([f"Checks: {pair.checks.summary}"] if pair.checks else [])
    )


def _curves(pairs: Sequence[ComparedPair]) -> str:
    """The differences by depth, where those were asked for."""
    by_score: dict[str, list[tuple[ComparedPair, list[Point]]]] = {}
    units = {}
    for pair in pairs:
        for one in pair.comparisons:
            rows = [row.difference for row in one.rows if row.difference.depth is not None]
            units[one.score] = one.unit
            by_score.setdefault(one.score, []).append(
                (
                    pair,
                    [
                        Point(
                            depth=row.depth or 0,
                            found=row,
                            turns=row.turns,
                            few=row.conversations < FEW_CONVERSATIONS,
                        )
                        for row in rows
                    ],
                )
            )
    drawn = [
        curves(f"{name}, B - A", units[name], {pair.second: points for pair, points in found})
        for name, found in list(by_score.items())[:MOST_SCORES]
    ]
    if not any(drawn):
        return ""
    return f'<div class="curves">{"".join(drawn)}</div>{legend([pair.second for pair in pairs])}'
