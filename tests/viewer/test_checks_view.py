"""Checks on pages: beside the answers, counted, and with a way from each failed number to its turns."""

from __future__ import annotations

import json
import re

import pytest

from replay.viewer.overview import check_totals
from replay.viewer.pages import environment, render, write_report
from replay.viewer.run_numbers import numbers_of
from tests.report.sample_checks import SAMPLE, check, checked_run, polite
from tests.viewer.runs import seen


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    return checked_run(tmp_path_factory.mktemp("checked") / "run")


@pytest.fixture(scope="module")
def page(checked, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "page.html"
    write_report(checked, path, resamples=10)
    return path.read_text("utf-8")


def cells(folder, id):
    """The words of each row's checks, by the row's id, of the first column."""
    html = render("conversation.html", view=seen(folder, id), back="#")
    rows = re.findall(r'<tr id="([^"]+)">(.*?)</tr>', html, re.DOTALL)
    found = {row: re.findall(r'<ul class="checks".*?</ul>', text, re.DOTALL) for row, text in rows}
    return {row: [re.sub(r"<[^>]+>", "", one) for one in lists] for row, lists in found.items()}


def test_the_checks_of_a_turn_stand_beside_its_answer_each_with_its_evidence(checked):
    found = cells(checked, "a")

    assert found["turn-1"] == [
        "passed contains &#34;refund&#34; found &#34;refund&#34;"
        "failed polite: rubric &#34;Is it polite?&#34; it is curt"
    ]
    assert found["turn-2"] == [
        "failed contains &#34;refund&#34; no &#34;refund&#34; in the answer",
    ]
    assert "end" not in found
    shown = [score.name for play in seen(checked, "a").turns[0].plays for score in play.scores]
    assert shown == ["f1"], "a column of checks says no more than they do"


def test_a_turn_that_was_never_asked_has_its_checks_and_the_end_comes_last(checked):
    found = cells(checked, "b")

    assert found["turn-2"] == ["not looked at contains &#34;refund&#34; never reached"]
    assert found["end"] == ["not looked at polite: rubric &#34;Is it polite?&#34; never reached"]
    assert list(found) == ["turn-1", "turn-2", "end"]
    assert "with a failed check" in seen(checked, "b").turns[0].summary


def test_a_play_that_was_never_begun_has_a_column_all_the_same(tmp_path):
    """Nothing was asked of it, and what was expected of it is said."""
    folder = checked_run(tmp_path / "run", [*SAMPLE, check("a", 1, "never reached", policy="rewrite")])
    view = seen(folder, "a")

    assert [column.label for column in view.columns] == ["pred", "rewrite"]
    assert [one.reason for one in view.turns[0].checks[1]] == ["never reached"]


def test_a_failed_number_leads_to_exactly_its_turns(page):
    links = re.findall(
        r'href="#conversations\?only=(checks-[^"&]+)&amp;system=made&amp;policy=pred">(\d+)</a>', page
    )
    breaking = json.loads(re.search(r'id="conversations-breaking">(.*?)</script>', page)[1])
    places = dict(re.findall(r'<tr data-place="(\d+)"[^>]*><th scope="row"><a href="[^"]*">(\w+)</a>', page))

    assert ("checks-check-made-pred", "3") in links, "overview"
    assert ("checks-check-made-pred-depth-2", "1") in links, "by depth"
    for id, _ in links:
        assert id in breaking
    turns = breaking["checks-check.contains-made-pred"]
    assert {places[place]: depths for place, depths in turns.items()} == {"a": [2], "b": [1]}
    assert "checks-check.end-made-pred" not in breaking, "what could not be looked at has not failed"


def test_what_could_not_be_looked_at_is_told_with_its_reason(page):
    overview, by_depth = page.split('id="depth"')
    rows = re.findall(r'<th scope="row">(check[.\w]*)</th>(.*?)</tr>', overview)
    said = {name: " ".join(re.sub(r"<[^>]+>", " ", cells).split()) for name, cells in rows}

    assert said["check"] == "3 of 6 not looked at: 2 never reached"
    assert said["check.end"] == "0 of 1 not looked at: 1 never reached"
    assert "<small>not looked at: 2 never reached</small>" in by_depth


def test_kinds_of_checks_without_a_failure_are_folded(tmp_path):
    folder = checked_run(tmp_path / "run", [check("a", 1, "+"), polite("a", 1, "-")])
    totals = check_totals(numbers_of(folder, 10).report.checks)

    assert [name for name, _ in totals.lines] == ["check", "check.polite", "check.rubric"]
    assert [name for name, _ in totals.passed] == ["check.contains"]
    assert totals.heads == ["pred"]


def test_columns_can_be_chosen_and_what_a_number_led_to_is_said(checked):
    rules = numbers_of(checked, 10).broken
    options = environment().get_template("parts.html").module.rule_options
    shown = re.findall(r"<option[^>]*>([^<]*)", options(rules))
    led_to = options(rules, "checks-check-made-pred-depth-2")

    assert shown == ["check", "check.contains", "check.polite", "check.rubric"]
    assert (
        '<option value="checks-check-made-pred-depth-2" hidden selected>check: made, pred, depth 2' in led_to
    )
    assert led_to.count("hidden") == 1
