"""What a notebook shows: the report's numbers, drawn and in tables, and nothing that a text makes of it."""

from __future__ import annotations

import json
import string
from html.parser import HTMLParser

import pytest

from replay.report.charts import _PALETTE
from replay.report.compare_document import comparison_document
from replay.report.notebook import MOST_ROWS, MOST_SECTIONS, document_html, figures_of
from replay.report.run_document import run_document
from replay.report.run_tables import depth_columns
from replay.statistics.comparison import ComparisonSettings
from replay.statistics.depth_table import depth_table
from replay.statistics.run_comparison import ScoredRun, comparison_report
from replay.statistics.run_numbers import Report
from tests.driving import axe_script, serious
from tests.report.sample_report import columns, records, report
from tests.report.test_markdown import HOSTILE, hostile_report
from tests.scorers.turns import turn

OURS = {
    *("div", "style", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"),
    *("details", "summary"),
}


class Shown(HTMLParser):
    """Elements, attributes and texts of a display."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data.replace("\u2007", " ").strip())


def run_html(shown, title="sample"):
    return document_html(run_document(shown, title=title), all_at="run.depth_table()")


def test_every_number_of_the_depth_tables_is_there():
    sample = report()
    shown = Shown(run_html(sample, "sample (runs/sample)"))
    cells = {
        cell.strip()
        for group in sample.table.groups
        for column in depth_columns(group, sample.table)
        for cell in column.cells
    }

    assert cells <= set(shown.texts)
    assert "sample (runs/sample)" in shown.texts
    assert "Against gold, on the same turns" in shown.texts


def test_each_score_has_a_figure_with_a_curve_for_each_policy_and_so_have_invalid_questions():
    *scores, invalid = figures_of(run_document(report()))
    titles = [one["layout"]["title"]["text"] for one in scores]

    assert titles == [f"Scores by depth: {name}" for name in ("em", "f1", "bleu1", "rouge_l")]
    assert {
        sum(one["mode"] == "lines+markers" for one in figure["data"] if "mode" in one) for figure in scores
    } == {4}
    assert invalid["layout"]["title"]["text"] == "Invalid and edited questions"
    names = [one["name"] for one in invalid["data"] if one["name"].endswith("invalid")]
    assert len(names) == 3, "gold answers leave no question without its meaning"


def test_figures_have_colours_and_none_of_the_pages_names_of_colours():
    text = json.dumps(
        [figures_of(run_document(report())), figures_of(comparison_document(compared(by_depth=True)))]
    )

    assert "rgba(213,94,0,1)" in text
    assert "--c" not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_names_make_nothing_happen(name):
    usual, shown = (Shown(run_html(hostile_report(one), one)) for one in ("plain", name))

    assert [e for e in shown.elements if e != "li"] == [e for e in usual.elements if e != "li"]
    assert set(shown.elements) <= OURS
    assert not {one for one in shown.attributes if one.startswith("on")} | (
        shown.attributes & {"href", "src", "xlink:href"}
    )


def test_mathematics_of_a_name_is_not_set():
    """A notebook's MathJax goes through what is shown, save where these classes are."""
    assert 'class="convreplay tex2jax_ignore mathjax_ignore"' in run_html(report(), "$x$")


def test_a_run_without_turns_says_so():
    assert "No turn has been asked yet." in run_html(Report(table=depth_table([], {}, {})))


def test_what_has_no_room_is_counted():
    turns = [turn("yes", "yes", system=f"s{n % 20}", conversation="c", depth=n + 1) for n in range(90)]
    table = depth_table(turns, {"em": columns(turns)["em"]}, {"c": 90}, resamples=0)
    html = run_html(Report(table=table))

    more = f"{20 - MOST_SECTIONS} more depth tables, {90 - MOST_ROWS} more rows of depth tables"
    assert f"{more}: run.depth_table() has all." in html
    assert Shown(html).elements.count("tr") == 20 + 1 + MOST_SECTIONS * (MOST_ROWS + 2)


def test_curves_can_be_seen_on_light_and_on_dark_ground():
    """WCAG 2.2, 1.4.11: 3 to 1 for what has to be seen to understand a drawing."""
    for color in _PALETTE:
        for ground in ("#ffffff", "#111111"):
            light, dark = sorted((_luminance(color), _luminance(ground)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, (color, ground)


def _luminance(color):
    assert set(color[1:]) <= set(string.hexdigits)
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def compared(**settings):
    turns = records()
    scores = {name: columns(turns)[name] for name in ("em", "f1")}
    run = ScoredRun(name="<b>run</b>", records=turns, scores=scores, signatures={})
    groups = {group.policy: group for group in run.groups()}
    pairs = [(groups["gold"], groups[policy]) for policy in ("pred", "rewrite")]
    chosen = ComparisonSettings(resamples=20, permutations=20, **settings)
    return comparison_report(run, run, pairs, settings=chosen)


def test_a_comparison_has_a_table_for_each_pair_and_curves_by_depth():
    document = comparison_document(compared(by_depth=True), gate=["Gate: <none>"])
    shown = Shown(document_html(document, all_at="comparison.to_frame()"))

    assert "A: <b>run</b>" in shown.texts
    assert "Gate: <none>" in shown.texts
    assert "extractive, pred (B) minus extractive, gold (A), on the same turns" in shown.texts
    assert shown.elements.count("table") == 2
    titles = [one["layout"]["title"]["text"] for one in figures_of(document)]
    assert titles == ["Differences by depth: em", "Differences by depth: f1"]
    assert set(shown.elements) <= OURS
    assert not figures_of(comparison_document(compared()))


pytest.importorskip("selenium", reason="selenium is not installed")


LOOKS = ("background: #fff; color: #222", "background: #111; color: #ddd")


@pytest.mark.long
def test_axe_finds_nothing_serious(browser, tmp_path):
    documents = (run_document(report(), title="sample"), comparison_document(compared(by_depth=True)))
    shown = "".join(document_html(one, all_at="all of it") for one in documents)
    page = f'<html lang="en"><meta charset="utf-8"><title>a notebook</title><main><h1>A</h1>{shown}</main>'
    (tmp_path / "page.html").write_text(f"<!doctype html>{page}", "utf-8")
    browser.get(f"file://{tmp_path / 'page.html'}")
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_script()})

    for look in LOOKS:
        browser.execute_script("document.body.style = arguments[0]", look)
        assert serious(browser, None) == []
