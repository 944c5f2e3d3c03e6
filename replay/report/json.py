"""The report for machines."""

from __future__ import annotations

from typing import Any

from replay import __version__
from replay.report.notes import notes
from replay.statistics import VERSION as STATISTICS
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_numbers import Report

SCHEMA = 1
"""Goes up when a key changes its meaning or goes away, not when one is added."""


def report_json(report: Report | None, load: LoadSummary | None = None) -> dict[str, Any]:
    """
    Return the whole report as plain JSON values, nothing left out or rounded.

    Scores are in their column's ``unit``; the unit ``share`` means a share in [0, 1], never per cent.
    Durations are in seconds.

    Args:
        report: None if the run has too many turns for a report; then there is *load* alone.
        load: The numbers of a load run.
    """
    loaded = {"schema": SCHEMA, "convreplay": __version__, "statistics": STATISTICS}
    loaded |= {} if load is None else {"load": load.to_json()}
    if report is None:
        return loaded
    return {
        **loaded,
        "depth_table": report.table.to_json(),
        "gaps": [gap.to_json() for gap in report.gaps],
        "hidden": [one.to_json() for one in report.hidden],
        "wording": [one.to_json() for one in report.wording],
        "failures": [failure.to_json() for failure in report.failures],
        "notes": notes(report),
        "signatures": dict(report.signatures),
        "judges": [dict(judge) for judge in report.judges],
        **({"checks": report.checks.to_json()} if report.checks else {}),
        **({"recorded": report.recorded.to_json()} if report.recorded else {}),
        **(
            {"interventions": [one.to_json() for one in report.interventions]} if report.interventions else {}
        ),
        **({"simulations": [one.to_json() for one in report.simulations]} if report.simulations else {}),
        **({"survival": [one.to_json() for one in report.survival]} if report.survival else {}),
        **({"turn_groups": [one.to_json() for one in report.turn_groups]} if report.turn_groups else {}),
        **({"repeats": report.repeats.to_json()} if report.repeats else {}),
        **({"server_times": [one.to_json() for one in report.server]} if report.server else {}),
        **({"people": report.people.to_json()} if report.people else {}),
    }
