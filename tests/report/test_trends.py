"""Bars of scores over the depths, behind the numbers of a table in Markdown."""

from __future__ import annotations

from replay.report.markdown import markdown_report
from replay.scorers.word_overlap import em
from replay.statistics.depth_table import depth_table
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn


def _totals(answers: str) -> str:
    """The row of a conversation answered as *answers* say: ``+`` right, ``-`` wrong, blank unscored."""
    golds = {"+": ("yes",), "-": ("no",), " ": ()}
    turns = [turn("yes", *golds[one], depth=depth) for depth, one in enumerate(answers, 1)]
    columns = score_columns(turns, {"em": em()})
    report = Report(table=depth_table(turns, columns, {turns[0].conversation: len(turns)}, resamples=0))
    return next(line for line in markdown_report(report, title="x").splitlines() if "`s`" in line)


def test_a_depth_has_a_bar_and_one_without_a_number_a_dot():
    """A space would be lost in Markdown, and all bars after it stand for the depths before theirs."""
    assert "| 66.7 █·▁█ |" in _totals("+ -+")


def test_one_depth_has_no_bars():
    assert "| 100.0 |" in _totals("+")
