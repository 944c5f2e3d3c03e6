"""Checks that came out otherwise than in another run."""

from __future__ import annotations

import io
import json

from replay.report.document import ReportDocument, ReportSection
from replay.report.findings import MOST_TURNS, changed_check_cases
from replay.report.printing import VisibleConsole
from replay.report.text import print_document
from replay.scorers.word_overlap import em
from replay.statistics.checks import changed_checks
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.score_column import score_columns
from replay.viewer.difference_views import compare_view
from replay.viewer.pages import render
from tests.cli.command import replay_cli
from tests.report.sample_checks import check, checked_run, polite
from tests.viewer.runs import EVIL, record

BEFORE = [
    check("a", 1, "+"),
    polite("a", 1, "-"),
    check("a", 2, "+"),
    check("b", 1, "-"),
    check("b", 2, "never reached"),
    check("c", 1, "+"),
]
AFTER = [
    check("a", 1, "-", answer="Never."),
    polite("a", 1, "-"),
    check("a", 2, "not answered: timed-out"),
    check("b", 1, "+"),
    check("b", 2, "-"),
    check("d", 1, "+"),
]


def places(found):
    return [(one.after.conversation, one.after.depth, one.before.verdict) for one in found]


def printed(found) -> str:
    out = io.StringIO()
    console = VisibleConsole(out)
    console.width = 80
    section = ReportSection(name="checks", blocks=list(changed_check_cases(found)))
    print_document(ReportDocument(title="", sections=[section]), console)
    return out.getvalue()


def test_what_newly_fails_passes_or_is_not_looked_at_is_told_apart():
    """What could not be looked at before and fails now newly fails; what can't be now has not passed."""
    found = changed_checks(BEFORE, AFTER)

    assert places(found.newly_failed) == [("a", 1, "passed"), ("b", 2, "not looked at")]
    assert places(found.no_longer_looked_at) == [("a", 2, "passed")]
    assert places(found.newly_passed) == [("b", 1, "failed")]
    assert (found.alike, found.only_first, found.only_second) == (1, 1, 1)


def test_a_check_of_the_end_is_the_same_where_the_conversation_ended_elsewhere():
    found = changed_checks([check("a", 3, "+", at_end=True)], [check("a", 5, "-", at_end=True)])
    assert places(found.newly_failed) == [("a", 5, "passed")]


def test_a_check_is_found_again_where_another_was_put_before_it():
    first = [check("a", 1, "+"), check("a", 1, "-", value="x", position=1)]
    second = [check("a", 1, "-", value="new"), check("a", 1, "+", position=1), check("a", 1, "-", value="x")]
    found = changed_checks(first, second)

    assert (found.changes, found.alike, found.only_second) == ({}, 2, 1)


def test_two_checks_alike_are_two():
    found = changed_checks([check("a", 1, "+"), check("a", 1, "+")], [check("a", 1, "+"), check("a", 1, "-")])

    assert (found.alike, len(found.newly_failed)) == (1, 1)


def test_without_checks_there_is_nothing_to_say():
    assert changed_checks([], []) is None


def test_the_text_lists_the_worst_first_with_both_answers():
    assert printed(changed_checks(BEFORE, AFTER)).splitlines()[:5] == [
        'newly failing (passed before): depth 1 of a: contains "refund"',
        "  asked   Question 1?",
        "  A       No.",
        "  B       Never.",
        '  found   no "refund" in the answer',
    ]


def test_very_many_changes_are_counted():
    before = [check(f"c{n}", 1, "+") for n in range(MOST_TURNS + 2)]
    found = printed(changed_checks(before, [check(f"c{n}", 1, "-") for n in range(MOST_TURNS + 2)]))

    assert found.count("newly failing (") == MOST_TURNS
    assert "and 2 more newly failing; `replay compare --json` has all" in found


def test_the_command_says_them_above_the_table_and_has_all_as_json(tmp_path):
    first, second = checked_run(tmp_path / "a", BEFORE), checked_run(tmp_path / "b", AFTER)
    quick = ("--resamples", 10, "--permutations", 10, "--metric", "f1")
    text = replay_cli("compare", first, second, *quick, cwd=tmp_path).stdout
    (pair,) = json.loads(replay_cli("compare", first, second, *quick, "--json", cwd=tmp_path).stdout)["pairs"]

    comment = replay_cli("compare", first, second, *quick, "--markdown", cwd=tmp_path).stdout

    assert comment.index("Checks: 2 newly failing") < comment.index("| `f1` |")
    assert "- newly failing (passed before): depth 1 of a: contains" in comment
    assert text.index("Checks: 2 newly failing") < text.index("score ")
    assert [one["conversation"] for one in pair["checks"]["newly_failed"]] == ["a", "b"]
    assert pair["checks"]["newly_failed"][0]["answer_before"] == "No."


def test_the_page_says_them_above_the_table_and_leads_to_the_turns():
    records = [record(c, 1, "pred") for c in "ab"]
    scores = score_columns(records, {"em": em()})
    runs = [
        ScoredRun(name=name, records=records, scores=scores, signatures={}, checks=checks)
        for name, checks in (
            ("first", [check("a", 1, "+", value=EVIL), *BEFORE]),
            ("second", [check("a", 1, "-", value=EVIL, evidence=EVIL), *AFTER]),
        )
    ]
    chosen = [{"key": name} for name in ("first", "second")]
    page = render(
        "compare.html", runs=[], chosen=chosen, views=[compare_view(*runs)], failed=None, watched=None,
        stamp="", plotly_stamp="", scripts=(), numbers_stamp="", current="compare",
    )  # fmt: skip

    assert "<summary>3 newly failing</summary>" in page
    assert page.index("newly failing") < page.index("Differences of")
    assert 'href="/run/second/conversation?id=a#turn-1"' in page
    assert "<img src=x" not in page
