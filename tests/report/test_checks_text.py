"""What checks, failed turns and groups of turns look like in a report."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from replay.report.document import ReportDocument
from replay.report.export import report_json
from replay.report.findings import MOST_REASONS, MOST_TURNS, failure_lines
from replay.report.latex import latex_report
from replay.report.markdown import markdown_report
from replay.report.printing import VisibleConsole
from replay.report.run_document import checks_sections
from replay.report.text import print_document, print_report
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.scorers.word_overlap import em
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.repeats import repeat_numbers
from replay.statistics.run_numbers import FailureReason, Report, turn_groups
from replay.statistics.score_column import ScoreColumn, score_columns
from tests.report.sample_checks import SAMPLE, check, polite
from tests.report.sample_report import report
from tests.scorers.turns import turn
from tests.statistics.repeated import played
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


def passing(**passed: list[float | None]) -> Report:
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


MIXED = passing(
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
    assert "`check`" in markdown_report(passing(check=[1.0] * 4, check_of_calls=[1.0] * 4), title="a run")


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


def reason(text: str | None, *, turns: int = 1, wordings: int = 1) -> FailureReason:
    return FailureReason(
        outcome="bad-reply",
        reason=text,
        turns=turns,
        wordings=wordings,
        system="bot",
        policy="pred",
        conversation="talk3",
        depth=2,
    )


def test_a_reason_is_told_in_full_with_one_turn_to_look_at():
    long = "the reply has no field answer; it has: " + "x" * 2000

    assert failure_lines(
        [reason(long), reason(None, turns=1200), reason("id 12345", turns=3, wordings=3)]
    ) == [
        f"1 turn, bad-reply: {long} (at: talk3, depth 2, bot, pred)",
        "1,200 turns, bad-reply: the adapter gave no reason (first: talk3, depth 2, bot, pred)",
        "3 turns, bad-reply: id 12345 [and 2 more that differ in ids, times or long numbers only] "
        "(first: talk3, depth 2, bot, pred)",
    ]


def test_nothing_in_a_reason_moves_the_cursor_or_breaks_a_line():
    (line,) = failure_lines([reason("bad\r\n\x1b[2J\u202e\udc80")])

    assert line.startswith(r"1 turn, bad-reply: bad  \x1b[2J\u202e\udc80 (at")


def test_of_very_many_reasons_the_rest_is_counted():
    lines = failure_lines([reason(f"no {n}", turns=2) for n in range(MOST_REASONS + 3)])

    assert len(lines) == MOST_REASONS + 1
    assert lines[-1] == "3 more reasons, of 6 turns: `replay report --json` has them all"


def grouped() -> Report:
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
    print_report(grouped(), Console(file=stream, width=100, color_system=None))
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
    assert "By sessions back" in markdown_report(grouped(), title="try")
    assert r"\caption{By sessions back}" in latex_report(grouped(), title="try")
    kind, sessions = report_json(grouped())["turn_groups"]
    assert (kind["by"], [row["turns"] for row in kind["rows"]]) == ("kind", [3, 3])
    assert (sessions["by"], sessions["rows"][0]["scores"]["em"]["value"]) == ("sessions back", 1.0)
