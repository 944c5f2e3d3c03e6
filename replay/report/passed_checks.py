"""
Columns of checks that all passed are no news: texts for people leave them out, files for programs have them.

A data set may have checks of a dozen kinds, and a dozen columns of 100 per cent hide the one of 97.
"""

from __future__ import annotations

from dataclasses import replace

from replay.core.expectation import ALL_CHECKS
from replay.statistics.run_numbers import Report


def without_passed_checks(report: Report) -> Report:
    """*report* without the columns of single kinds of checks that passed everywhere, and a remark on them."""
    columns = report.table.columns
    passed = [
        name
        for name in columns
        if name.startswith(f"{ALL_CHECKS}.")
        and all(group.total.scores[name].value in (1.0, None) for group in report.table.groups)
    ]
    if not passed:
        return report
    remark = f"all passed wherever they were looked at, so in no column here: {', '.join(passed)}."
    repeats = report.repeats and replace(
        report.repeats,
        curves=tuple(curve for curve in report.repeats.curves if curve.score not in passed),
        spread=tuple(row for row in report.repeats.spread if row.score not in passed),
    )
    return replace(
        report,
        repeats=repeats,
        table=replace(report.table, columns={n: c for n, c in columns.items() if n not in passed}),
        gaps=tuple(gap for gap in report.gaps if gap.score not in passed),
        remarks=(*report.remarks, remark),
    )
