from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from replay.report.columns import TextColumn, Value, score_cells, table_lines
from replay.report.text import print_report
from replay.scorers.operational import latency
from replay.scorers.unanswerable import unanswerable_precision
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import ScoreColumn
from tests.report.sample_report import report
from tests.scorers.turns import turn

GOLDEN = Path(__file__).parents[1] / "golden"


def printed(shown: Report, width: int) -> str:
    out = io.StringIO()
    print_report(shown, Console(file=out, width=width, color_system=None))
    return out.getvalue()


@pytest.mark.parametrize("width", [140, 100, 60])
def test_the_report_is_the_one_agreed_on(width):
    """After a wanted change, run once with UPDATE_GOLDEN=1 and read what changed."""
    found = printed(report(), width)
    file = GOLDEN / f"report_{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(found, encoding="utf-8")

    assert found == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [140, 100, 60, 50])
def test_no_line_of_a_table_is_wider_than_the_terminal_or_ends_in_a_space(width):
    lines = printed(report(signatures={}), width).split("Signatures")[0].splitlines()

    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def test_only_ascii_is_printed():
    assert printed(report(), 80).isascii()


def test_names_are_never_markup():
    table = depth_table([turn(system="[red]x[/blue]")], {}, {"c1": 1})

    assert "[red]x[/blue], pred" in printed(Report(table=table), 80)


def test_a_run_without_turns_says_so():
    assert printed(Report(table=depth_table([], {}, {})), 80) == "No turn has been asked yet.\n"


def test_a_score_that_is_no_share_is_not_shown_in_per_cent():
    column = ScoreColumn(scorer=latency(), observed=[1234.5, 0.0000123])
    table = depth_table([turn(depth=1), turn(depth=2)], {"latency": column}, {"c1": 2})
    found = printed(Report(table=table), 80)

    assert "latency (s)" in found
    assert "1234" in found
    assert "0.0000123" in found
    assert "no score is in per cent" in found


def test_a_unit_stands_over_differences_too():
    turns = [turn(policy=policy, conversation=c) for policy in ("gold", "pred") for c in ("c1", "c2")]
    column = ScoreColumn(scorer=latency(), observed=[1.0, 2.0, 3.0, 4.5])
    gaps = tuple(policy_gaps(turns, {"latency": column}, resamples=10))
    table = depth_table(turns, {"latency": column}, {"c1": 1, "c2": 1}, resamples=10)
    found = printed(Report(table=table, gaps=gaps), 80)

    assert found.count("latency (s)") == 3
    assert "+2.25 [" in found


def test_a_score_that_is_not_defined_over_its_turns_has_a_dash():
    column = ScoreColumn(scorer=unanswerable_precision(), observed=[[0, 0], [0, 1]])
    table = depth_table([turn(depth=1), turn(depth=2)], {"p": column}, {"c1": 2})

    assert table.groups[0].total.scores["p"].value is None
    assert table.groups[0].total.scores["p"].scored == 2


def test_signed_cells_have_no_negative_nothing():
    cells = score_cells([Value(-0.0001, -0.012, 0.004), None], percent=True, whole=True, signed=True)

    assert cells == ("0.0 [-1, +0]", "  -")


def test_wide_characters_take_two_cells():
    columns = [TextColumn(head="a", cells=("日本", "x")), TextColumn(head="b", cells=("1", "2"))]

    assert table_lines(columns, width=80, total=False) == ["   a  b", "-------", "日本  1", "   x  2"]
