"""The file of a run as people use it, in a real browser."""

from __future__ import annotations

import csv
import re

import pytest

from replay.results.run import Run
from replay.viewer.pages import write_report
from tests.driving import CSS, By, Keys, Select, screen, shown, until
from tests.viewer.browsing import curves, drawn, go, harmless
from tests.viewer.runs import make_run, record, talk


def test_each_view_of_the_file_opens_alone_from_disk(quick):
    for title, heading in (
        ("Overview", "Overview"),
        ("By depth", "By depth"),
        ("Gold against reality", "Gold against reality"),
        ("Conversations", "Conversations"),
        ("Load", "Load"),
    ):
        go(quick, title)
        until(quick, lambda d, heading=heading: [e.text for e in shown(d, "main h2")] == [heading])
        assert shown(quick, "nav [aria-current]")[0].text == title
        drawn(quick)
    loaded = "return performance.getEntriesByType('resource').map(e => e.name)"
    loaded += ".filter(n => !/^data:|^blob:/.test(n))"
    assert quick.execute_script(loaded) == []


def test_switches_change_the_chart_and_its_table(quick):
    go(quick, "By depth")
    drawn(quick)
    assert curves(quick, "scores-by-depth") == ["gold", "pred", "rewrite", "replace"]
    form = shown(quick, "form.switches")[0]
    Select(form.find_element(By.NAME, "metric")).select_by_visible_text("em")
    form.find_element(CSS, "input[value=pred]").click()
    until(quick, lambda d: curves(d, "scores-by-depth") == ["gold", "rewrite", "replace"])
    title = "return document.querySelector('#scores-by-depth .plot').layout.yaxis.title.text"
    until(quick, lambda d: d.execute_script(title) == "em (%)")
    shown(quick, "#scores-by-depth summary")[0].click()
    heads = [e.text for e in shown(quick, "#scores-by-depth th")]
    assert "em (%)" in heads
    policies = {row.text.split()[1] for row in shown(quick, "#scores-by-depth tbody tr")}
    assert policies == {"gold", "rewrite", "replace"}


def test_the_overview_begins_with_the_sentence_and_its_score_by_depth(quick):
    drawn(quick)
    sentence, curve, counts = (
        quick.find_element(CSS, f"#overview {one}").rect["y"]
        for one in ("p.lead", "#headline-curve", "dl.counts")
    )
    assert sentence < curve < counts
    score = re.search(r"points of (\w+)", quick.find_element(CSS, "#overview p.lead").text)[1]
    assert quick.find_element(CSS, "#headline-curve h3").text == f"{score} by turn depth"
    assert curves(quick, "headline-curve") == ["gold", "pred", "rewrite", "replace"]


BANDS = """
return [...document.querySelectorAll('#headline-curve .plot')].flatMap(
  plot => plot.data.filter(trace => trace.meta?.band && trace.fillcolor !== "rgba(0,0,0,0)")
    .map(trace => trace.meta.policy));
"""
POINT = """
const plot = document.querySelector('#headline-curve .plot'), box = plot.getBoundingClientRect();
const curve = plot.data.find(trace => trace.name === arguments[0] && trace.mode === "lines+markers");
const { xaxis, yaxis } = plot._fullLayout;
return [xaxis._offset + xaxis.d2p(curve.x[3]), yaxis._offset + yaxis.d2p(curve.y[3]) - 2].map(
  (at, n) => at + [box.left, box.top][n]);
"""


def test_of_more_than_two_curves_the_one_pointed_at_shows_its_band(quick):
    """Four bands over one another can't be told apart."""
    drawn(quick)
    assert quick.execute_script(BANDS) == []
    for policy in ("gold", "pred"):
        x, y = quick.execute_script(POINT, policy)
        quick.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        until(quick, lambda d, policy=policy: d.execute_script(BANDS) == [policy])


def test_many_scores_stand_in_as_many_tables_as_the_screen_needs(browser, tmp_path):
    played = [(c, depth) for c in "abc" for depth in (1, 2)]
    names = ["em", "f1", "rouge1", "rouge2", "rouge_l", "fuzzy"]
    scores = {name: {("pred", *turn): 1.0 for turn in played} for name in names}
    make_run(
        tmp_path / "run", [talk(c) for c in "abc"], [record(c, d, "pred", "No.") for c, d in played], scores
    )
    write_report(tmp_path / "run", tmp_path / "wide.html", resamples=10)
    with screen(browser, 1280):
        browser.get(f"file://{tmp_path / 'wide.html'}")
        until(browser, lambda d: len(shown(d, "table.headline")) == 2)
        wide = "return [...document.querySelectorAll('.scroll')].some(e => e.scrollWidth > e.clientWidth)"
        assert not browser.execute_script(wide)
        assert len(shown(browser, "table.headline th.score")) == len(names)


def test_a_chart_keeps_its_height_when_the_window_changes(quick):
    """Plotly's own box shrinks, and the picture would lie over the table below it."""
    go(quick, "By depth")
    drawn(quick)
    heights = (
        "return ['.plot', '.plot .main-svg'].map("
        "s => document.querySelector('#scores-by-depth ' + s).getBoundingClientRect().height)"
    )
    before = quick.execute_script(heights)
    with screen(quick, 900):
        width = "return document.querySelector('#scores-by-depth .main-svg').getBoundingClientRect().width"
        until(quick, lambda d: d.execute_script(width) < 900)
        assert quick.execute_script(heights) == before
    assert before[0] >= before[1]


def test_a_failed_number_of_the_file_leads_to_its_turns(browser, files):
    browser.get("about:blank")
    browser.get(f"file://{files / 'failing.html'}")
    until(browser, lambda d: shown(d, "table.held"))
    shown(browser, "h2 a.tag")[0].click()
    below = "return document.getElementById('assertions').getBoundingClientRect().top < innerHeight / 2"
    until(browser, lambda d: d.execute_script(below))
    assert "1 of 2 failed" in shown(browser, "#assertions")[0].text
    browser.find_element(By.LINK_TEXT, "3 turns").click()
    until(browser, lambda d: shown(d, "#list .breaking a"))
    assert [a.text for a in shown(browser, "#list .breaking a")] == ["1", "2", "2"]
    assert [e.text.split()[0] for e in shown(browser, "#list tbody th")] == ["b", "Harbours"], "worst first"
    shown(browser, "#list .breaking a")[2].click()
    until(browser, lambda d: shown(d, "table.sides"))
    assert [e.get_attribute("id") for e in shown(browser, "tr.wanted")] == ["turn-2"]
    (marked,) = shown(browser, "td.against")
    assert "against: f1 at least 0.6 (pred)" in marked.text
    go(browser, "Conversations")
    Select(browser.find_element(By.NAME, "only")).select_by_visible_text("invalid turns")
    until(browser, lambda d: not shown(d, "#list tbody tr"))
    assert shown(browser, "#finder-said")[0].text == "0 of 2 conversations."
    Select(browser.find_element(By.NAME, "only")).select_by_visible_text("em is 0")
    until(browser, lambda d: len(shown(d, "#list .breaking a")) == 3)


def test_a_failed_check_is_reached_from_its_number_and_seen_beside_its_answer(browser, files):
    """By keyboard, on a phone, and not by colour alone."""
    address = f"file://{files / 'checked.html'}"
    with screen(browser, 390):
        for view, row, depths in (("overview", 1, ["1", "1", "2"]), ("depth", 2, ["2"])):
            browser.get("about:blank")
            browser.get(f"{address}#{view}")
            until(browser, lambda d: shown(d, "main h2"))
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
            checks = f"#{view} section:has(h3[id^=checks]) tbody"
            shown(browser, f"{checks} tr:nth-child({row}) a")[0].send_keys(Keys.ENTER)
            until(browser, lambda d: shown(d, "#list .breaking a"))
            assert sorted(a.text for a in shown(browser, "#list .breaking a")) == depths
            chosen = Select(browser.find_element(By.NAME, "only")).first_selected_option
            assert chosen.get_attribute("textContent").startswith("check: made, pred")
        shown(browser, "#list .breaking a")[0].send_keys(Keys.ENTER)
        until(browser, lambda d: shown(d, "tr.wanted ul.checks"))
        (said,) = [e.text for e in shown(browser, "tr.wanted ul.checks")]
        assert said.split("\n")[0] == 'failed contains "refund" no "refund" in the answer'
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def policies_run(folder, *policies, turns=6):
    """One conversation of some length."""
    records = [record("a", depth, policy) for policy in policies for depth in range(1, turns + 1)]
    return make_run(folder, [talk("a", turns=turns)], records, {})


@pytest.mark.parametrize("count", [3, 5])
def test_a_conversation_fits_the_screen_with_three_policies_and_scrolls_with_more(browser, tmp_path, count):
    policies = ("gold", "pred", "rewrite", "replace", "augment")[:count]
    write_report(policies_run(tmp_path / "run", *policies), tmp_path / "page.html", resamples=10)
    browser.get(f"file://{tmp_path / 'page.html'}#conversation-0")
    until(browser, lambda d: shown(d, "table.sides"))
    with screen(browser, 1280):
        box = "const box = document.querySelector('.scroll.sides');"
        wider = f"{box} return box.scrollWidth - box.clientWidth"
        first = f"{box} return box.querySelector('th.recorded').getBoundingClientRect().left"
        assert (browser.execute_script(wider) > 0) == (count > 3)
        left = browser.execute_script(first)
        browser.execute_script(f"{box} box.scrollLeft = 10000")
        assert browser.execute_script(first) == left, "what was recorded stays in sight"
        edge = f"{box} return getComputedStyle(box).backgroundAttachment"
        assert browser.execute_script(edge) == "local, local, scroll, scroll", "an edge tells of more"


def test_a_long_conversation_is_folded_on_a_narrow_screen(browser, tmp_path):
    write_report(policies_run(tmp_path / "run", "gold", "pred"), tmp_path / "page.html", resamples=10)
    with screen(browser, 400):
        browser.get(f"file://{tmp_path / 'page.html'}#conversation-0-turn-3")
        until(browser, lambda d: shown(d, "table.sides"))
        plays = "table.sides > tbody > tr > td"
        assert [e.find_element(By.XPATH, "..").get_attribute("id") for e in shown(browser, plays)] == [
            "turn-3"
        ] * 2
        button = shown(browser, "#turn-1 button.fold")[0]
        assert button.text.endswith("2 plays")
        assert button.get_attribute("aria-expanded") == "false"
        button.click()
        assert len(shown(browser, plays)) == 4
        assert button.get_attribute("aria-expanded") == "true"
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    until(browser, lambda d: len(shown(d, plays)) == 12)
    assert shown(browser, "button.fold") == []


def test_what_is_said_of_the_gap_is_not_cut(quick):
    go(quick, "Gold against reality")
    drawn(quick)
    with screen(quick, 1280):
        boxes = "[...document.querySelectorAll('.metric-parts .scroll')]"
        wider = quick.execute_script(f"return {boxes}.map(e => e.scrollWidth - e.clientWidth)")
        assert max(wider) <= 0


def test_a_table_is_downloaded_as_it_is_shown(quick, quickstart):
    go(quick, "By depth")
    drawn(quick)
    shown(quick, "#scores-by-depth summary")[0].click()
    shown(quick, "#scores-by-depth button.csv")[0].click()
    path = quick.downloads / "scores-by-depth-f1.csv"
    until(quick, lambda d: path.is_file() and path.stat().st_size)
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert len(rows) == 4 * 11
    total = next(row for row in rows if (row["Policy"], row["Depth"]) == ("gold", "all"))
    gold = Run(quickstart).report(resamples=0).table.groups[0].total.scores["f1"]
    assert float(total["f1 (%)"]) == gold.value
    shown(quick, "#scores-by-depth button.svg")[0].click()
    picture = quick.downloads / "scores-by-depth.svg"
    until(quick, lambda d: picture.is_file() and picture.read_bytes().startswith(b"<svg"))


def test_a_conversation_of_the_file_is_searched_sorted_and_opened(quick):
    go(quick, "Conversations")
    until(quick, lambda d: len(shown(d, "#list tbody tr")) == 20)
    Select(shown(quick, "#finder select")[0]).select_by_visible_text("drift")
    cells = [[c.text for c in r.find_elements(CSS, "td.n")] for r in shown(quick, "#list tbody tr")]
    counts = [int(invalid) / int(asks) for _, _, asks, invalid, *_ in cells]
    assert counts == sorted(counts, reverse=True)
    assert all(re.fullmatch(r"\d+\.\d", score) for score, *_ in cells), "a score is shown whatever the order"
    shown(quick, "#finder input")[0].send_keys("harbour")
    until(quick, lambda d: 0 < len(shown(d, "#list tbody tr")) < 20)
    link = shown(quick, "#list tbody tr a")[0]
    title = link.text
    link.click()
    until(quick, lambda d: shown(d, "table.sides"))
    assert shown(quick, "main h2")[0].text.startswith(title)
    heads = [e.text.split("\n")[0].strip() for e in shown(quick, "table.sides > thead th")]
    assert heads == ["Recorded", "gold", "pred", "rewrite", "replace"]
    quick.find_element(CSS, "form.columns input[value='2']").click()
    assert len(shown(quick, "table.sides > thead th")) == 4
    quick.back()
    until(quick, lambda d: shown(d, "#list"))


def test_an_edited_question_shows_both_readings_of_its_mention(quick):
    """The shipped scenario has drift; the page shows it where it happened."""
    go(quick, "Conversations")
    Select(shown(quick, "#finder select")[0]).select_by_visible_text("edits")
    shown(quick, "#list tbody tr a")[0].click()
    until(quick, lambda d: shown(d, "table.sides"))
    assert shown(quick, ".question ins")
    assert shown(quick, ".question del")
    assert any(" % likely to mean something else; " in why.text for why in shown(quick, ".why"))
    for one in shown(quick, "table.sides summary"):
        if "mention" in one.text:
            one.click()
    row = shown(quick, "tbody.drifted, tbody.lost")[0]
    assert len(row.find_elements(CSS, "td")) == 2


@pytest.mark.parametrize("page", ["overview", "depth", "conversations", "conversation-0"])
def test_a_hostile_run_is_harmless_in_the_file(browser, files, page):
    browser.get("about:blank")
    browser.get(f"file://{files / 'evil.html'}#{page}")
    until(browser, lambda d: shown(d, "main h2"))
    if page == "conversation-0":
        until(browser, lambda d: shown(d, "table.sides"))
    drawn(browser)
    harmless(browser)
