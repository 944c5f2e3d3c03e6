"""Repeats in text, in Markdown and for machines."""

from __future__ import annotations

import io
import json

from rich.console import Console

from replay.report.export import report_json
from replay.report.markdown import markdown_report
from replay.report.run_tables import displayed_ks
from replay.report.text import print_report
from replay.statistics.depth_table import depth_table
from replay.statistics.repeats import repeat_numbers
from replay.statistics.run_numbers import Report
from tests.statistics.repeated import FAILED, played

PLAYS = (
    [[1, 1], [1, 0], [1, 1]],
    [[1, FAILED], [0, 1], [1, 1]],
    [[0, 0], [0, 0], [0, 0]],
)


def report(times=3, conversations=PLAYS) -> Report:
    records, scores = played(*conversations)
    lengths = {
        record.conversation: max(len(play) for plays in conversations for play in plays) for record in records
    }
    return Report(
        table=depth_table(records, scores, lengths, resamples=0),
        repeats=repeat_numbers(records, scores, times, resamples=0),
    )


def text(of: Report, width=100) -> str:
    stream = io.StringIO()
    print_report(of, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def test_the_tables_in_text():
    shown = text(report())
    assert (
        """\
s, pred: pass^k
score                 cases  pass^1  pass^2  pass^3  pass@3  incomplete
-----------------------------------------------------------------------
check, depth 1            3  55.6    44.4    33.3    66.7             0
check, depth 2            3  55.6    44.4     0.0    50.0             1
check, all turns          6  55.6    44.4    20.0    60.0             1
check, conversations      3  38.9    11.1     0.0    50.0             1

s, pred: spread between plays
score  depth  mean    sd  play 1  play 2  play 3
------------------------------------------------
check      1  55.6  19.2    66.7    33.3    66.7
check      2  50.0  16.7    50.0    33.3    66.7
check    all  53.3  17.6    60.0    33.3    66.7
"""
        in shown
    )
    assert "- incomplete: cases with a play that has no score, as where an ask failed" in shown


def test_without_a_missing_score_nothing_is_said_of_it():
    shown = text(report(conversations=([[1], [0]], [[1], [1]]), times=2))
    assert "incomplete" not in shown


def test_many_plays_show_some_ks_and_the_ends_of_the_spread():
    assert displayed_ks(5) == [1, 2, 3, 4, 5]
    assert displayed_ks(12) == [1, 2, 4, 8, 12]
    shown = text(report(conversations=([[1]] * 6, [[1]] * 5 + [[0]]), times=6))
    assert "pass^1  pass^2  pass^4  pass^6  pass@6" in shown
    assert "mean    sd  least   most" in shown


def test_of_many_depths_the_totals_are_shown():
    shown = text(report(times=2, conversations=([[1] * 30, [1] * 30], [[1] * 30, [0] * 30])))
    assert "check, all turns" in shown
    assert "check, depth 7" not in shown


def test_markdown_holds_the_same_folded():
    lines = markdown_report(report(), title="a run").splitlines()
    at = lines.index("<details><summary><code>s</code>, <code>pred</code>: pass^k</summary>")
    assert lines[at + 2] == "| score | cases | `pass^1` | `pass^2` | `pass^3` | `pass@3` | incomplete |"
    assert "| check, conversations | 3 | 38.9 | 11.1 | 0.0 | 50.0 | 1 |" in lines


def test_machines_get_every_k_with_its_cases():
    found = json.loads(json.dumps(report_json(report())))["repeats"]
    assert found["times"] == 3
    curve = found["pass"][-1]
    assert (curve["whole_conversation"], curve["depth"], curve["cases"]) == (True, None, 3)
    assert [(one["k"], one["scored"]) for one in curve["pass_all"]] == [(1, 3), (2, 3), (3, 2)]
    assert found["spread"][0]["values"] == [2 / 3, 1 / 3, 2 / 3]
    assert "repeats" not in report_json(Report(table=report().table))
