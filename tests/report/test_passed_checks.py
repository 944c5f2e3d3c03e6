"""Columns of checks that all passed are left out where people read, and named."""

from __future__ import annotations

from dataclasses import replace

from replay.report.export import report_json
from replay.report.markdown import markdown_report
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.repeats import repeat_numbers
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import ScoreColumn
from tests.scorers.turns import turn
from tests.statistics.repeated import played


def report(**passed: list[float | None]) -> Report:
    """One column of checks for each of *passed*, over gold's and pred's turns in turn."""
    count = len(next(iter(passed.values())))
    turns = [
        turn("a", conversation=f"c{n // 2}", policy=("gold", "pred")[n % 2], depth=1) for n in range(count)
    ]
    columns = {
        name.replace("_of_", "."): ScoreColumn(
            scorer=StoredScorer(signature="all-hold", unit=SHARE, lower_is_better=False),
            observed=[Unscored(reason="no check here") if one is None else one for one in values],
        )
        for name, values in passed.items()
    }
    lengths = {one.conversation: 1 for one in turns}
    return Report(table=depth_table(turns, columns, lengths), gaps=tuple(policy_gaps(turns, columns)))


MIXED = report(
    check=[1.0, 0.0] * 4,
    check_of_contains=[1.0, 1.0] * 4,
    check_of_calls=[1.0, 0.0] * 4,
    check_of_regex=[None, 1.0] * 4,
)


def test_what_passed_everywhere_is_named_in_a_note_and_has_no_column():
    shown = markdown_report(MIXED, title="a run")
    table, notes = shown.split("**Notes**")
    assert "check.calls" in table
    assert "check.contains" not in table
    assert "check.regex" not in table
    assert "so in no column here: check.contains, check.regex." in notes


def test_where_all_passed_the_column_of_all_checks_stays():
    assert "`check`" in markdown_report(report(check=[1.0] * 4, check_of_calls=[1.0] * 4), title="a run")


def test_programs_get_every_column():
    assert set(report_json(MIXED)["depth_table"]["columns"]) == {
        "check",
        "check.contains",
        "check.calls",
        "check.regex",
    }


def test_tables_of_repeats_leave_them_out_too():
    records, scores = played([[1], [0]], [[1], [1]])
    scores["check.calls"] = scores["check"]
    scores["check.regex"] = replace(scores["check"], observed=[1.0] * len(records))
    lengths = {record.conversation: 1 for record in records}
    shown = markdown_report(
        Report(
            table=depth_table(records, scores, lengths, resamples=0),
            repeats=repeat_numbers(records, scores, 2, resamples=0),
        ),
        title="a run",
    )
    assert "check.calls, all turns" in shown
    assert "check.regex, all turns" not in shown
