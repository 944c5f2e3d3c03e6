"""What became of checks, as text, Markdown and JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from replay.report.document import ReportDocument
from replay.report.export import report_json
from replay.report.findings import MOST_TURNS
from replay.report.markdown import markdown_report
from replay.report.printing import VisibleConsole
from replay.report.run_document import checks_sections
from replay.report.text import print_document, print_report
from replay.statistics.checks import count_checks
from tests.report.sample_checks import SAMPLE, check, polite
from tests.report.sample_report import report
from tests.viewer.runs import EVIL

WHO = {"system": "made", "policy": "pred"}


def printed(checks, width: int = 80) -> str:
    out = io.StringIO()
    console = VisibleConsole(out)
    console.width = width
    print_document(ReportDocument(title="", sections=list(checks_sections(count_checks(checks)))), console)
    return out.getvalue()


def test_counts_come_by_kind_and_name_and_the_first_failures_first():
    assert printed(SAMPLE).splitlines() == [
        "Checks",
        "system  policy  checks          passed  failed  not looked at",
        "-------------------------------------------------------------",
        "made    pred    check                1       3              2",
        "made    pred    check.contains       1       2              1",
        "made    pred    check.end            0       0              1",
        "made    pred    check.polite         0       1              1",
        "made    pred    check.rubric         0       1              1",
        "- made, pred: not looked at: 2 never reached",
        "",
        "Failed checks",
        "depth 1 of a",
        "  asked   Question 1?",
        "  answer  No.",
        '  failed  polite: rubric "Is it polite?": it is curt',
        "depth 1 of b",
        "  asked   Question 1?",
        "  answer  No.",
        '  failed  contains "refund": no "refund" in the answer',
        "depth 2 of a",
        "  asked   Question 2?",
        "  answer  No.",
        '  failed  contains "refund": no "refund" in the answer',
    ]


def test_groups_stand_apart_and_failures_say_whose_they_are():
    found = printed([*SAMPLE, *(check("a", 1, "-", policy=policy) for policy in ("gold", "rewrite"))])

    assert [line.split()[1] for line in found.splitlines() if " check   " in line] == [
        "gold",
        "pred",
        "rewrite",
    ]
    assert "\ndepth 1 of b (made, pred)\n" in found
    assert "\ndepth 1 of a (made, gold; made, rewrite)\n" in found, "what they have in common stands once"


def test_where_all_passed_a_row_says_so():
    found = printed([check("a", 1, "+"), check("b", 1, "+"), check("a", 1, "-", policy="gold")])
    comment = markdown_report(replace(report(), checks=count_checks([check("a", 1, "+")])), title="t")

    rows = [line.split() for line in found.splitlines() if line.startswith("made")]
    assert [row[1:4] for row in rows if row[1] == "pred"] == [["pred", "check", "2"]]
    assert len(rows) > 2, "gold has more"
    assert "| `made` | `pred` | `check` | 1 | 0 | 0 |" in comment
    assert "check.contains" not in comment


def test_where_nothing_could_be_looked_at_a_row_and_the_reasons_say_so():
    found = printed([check("a", 1, "never reached", asked=None), check("b", 1, "skipped")])

    assert found.splitlines()[3:] == [
        "made    pred    check        0       0              2",
        "- made, pred: not looked at: 1 never reached, 1 skipped",
    ]


def test_the_checks_of_a_turn_stand_together_below_its_answer():
    found = printed([check("a", 1, "-"), check("b", 1, "-"), polite("a", 1, "-", evidence="it is curt")])

    assert found.count("of a\n") == 1
    assert found.splitlines()[-9:-4] == [
        "depth 1 of a",
        "  asked   Question 1?",
        "  answer  No.",
        '  failed  contains "refund": no "refund" in the answer',
        '  failed  polite: rubric "Is it polite?": it is curt',
    ]


def test_very_many_failures_are_counted_and_the_way_to_them_is_shown():
    found = printed([check(f"c{n:02}", 1, "-") for n in range(MOST_TURNS + 3)])

    assert found.count('contains "refund": no') == MOST_TURNS
    assert "and 3 more turns: replay export RUN --table checks" in found
    assert "more" not in printed([check(f"c{n:02}", 1, "-") for n in range(MOST_TURNS)])


@pytest.mark.parametrize("width", [40, 80])
def test_hostile_and_long_texts_stay_on_their_lines(width):
    evil = check(EVIL, 1, "-", value=[EVIL, {"a": EVIL}], called=EVIL, asked=EVIL, answer="long " * 999)
    found = printed([evil], width)

    assert "\x1b" not in found
    assert "\u202e" not in found
    answers = [line for line in found.splitlines() if line.startswith("  answer")]
    assert answers
    assert all(len(line) <= width for line in answers)


def test_the_report_has_them_between_the_tables_and_the_gaps():
    shown = replace(report(), checks=count_checks(SAMPLE))
    out = io.StringIO()
    print_report(shown, Console(file=out, width=100, color_system=None))
    text = out.getvalue()

    assert text.index("extractive, filter") < text.index("\nChecks\n") < text.index("Against gold")


def test_json_has_the_counts_of_each_depth_and_every_failure():
    found = report_json(replace(report(), checks=count_checks(SAMPLE)))["checks"]

    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["counts"][:3] == [
        {**WHO, "check": "check", "depth": 1, "passed": 1, "failed": 2, "unchecked": {}},
        {**WHO, "check": "check", "depth": 2, "passed": 0, "failed": 1, "unchecked": {"never reached": 2}},
        {**WHO, "check": "check", "depth": None, "passed": 1, "failed": 3, "unchecked": {"never reached": 2}},
    ]
    assert [(one["conversation"], one["depth"], one["valid"]) for one in found["failed"]] == [
        ("a", 1, None),
        ("b", 1, None),
        ("a", 2, False),
    ]
    assert "checks" not in report_json(report())


def test_markdown_has_a_table_and_the_failures():
    found = markdown_report(replace(report(), checks=count_checks(SAMPLE)), title="t")

    assert "| `made` | `pred` | `check.contains` | 1 | 2 | 1 |" in found
    assert "- made, pred: not looked at: 2 never reached" in found
    assert '  - failed: polite: rubric "Is it polite?": it is curt' in found
