"""Scores by kind and by distance in text, in Markdown and for machines."""

from __future__ import annotations

import io

from rich.console import Console

from replay.report.export import report_json
from replay.report.latex import latex_report
from replay.report.markdown import markdown_report
from replay.report.text import print_report
from replay.scorers.word_overlap import em
from replay.statistics.depth_table import depth_table
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
from replay.statistics.turn_groups import turn_groups
from tests.scorers.turns import turn


def report() -> Report:
    said = {"gold": ["Paris", "Paris", "Rome"], "gold(history=session)": ["Rome", "Paris", "Rome"]}
    records = [
        turn(answer, "Paris", conversation=f"c{n}", policy=policy, kind="who", sessions_back=4 * n)
        for policy, answers in said.items()
        for n, answer in enumerate(answers)
    ]
    scores = score_columns(records, {"em": em()})
    lengths = {record.conversation: 1 for record in records}
    return Report(
        table=depth_table(records, scores, lengths, resamples=0),
        turn_groups=turn_groups(records, scores, resamples=0),
    )


def test_the_tables_in_text():
    stream = io.StringIO()
    print_report(report(), Console(file=stream, width=100, color_system=None))
    assert """\
By sessions back
sessions back  system  policy                 turns  em
----------------------------------------------------------
0              s       gold                       1  100.0
0              s       gold(history=session)      1    0.0
4 to 7         s       gold                       1  100.0
4 to 7         s       gold(history=session)      1  100.0
8 to 15        s       gold                       1    0.0
8 to 15        s       gold(history=session)      1    0.0
""" in stream.getvalue()
    assert "By kind\nkind  system" in stream.getvalue()


def test_they_are_in_markdown_in_latex_and_in_json():
    assert "By sessions back" in markdown_report(report(), title="try")
    assert r"\caption{By sessions back}" in latex_report(report(), title="try")
    kind, sessions = report_json(report())["turn_groups"]
    assert (kind["by"], [row["turns"] for row in kind["rows"]]) == ("kind", [3, 3])
    assert (sessions["by"], sessions["rows"][0]["scores"]["em"]["value"]) == ("sessions back", 1.0)
