"""The pages as people use them, in a real browser."""

from __future__ import annotations

import asyncio
import csv
import re
import threading

import pytest

from replay.results.run import Run
from replay.runs.launch import run as play
from replay.scenario.reading import read_scenario, with_changes
from replay.scenario.shipped import find_scenario
from replay.scorers.word_overlap import f1
from replay.viewer.static_report import write_report
from tests.driving import DARK_INK, INK, axe_script, dark, few_rows, screen, serious, shown, until
from tests.report.sample_checks import checked_run
from tests.report.test_load_text import sweep
from tests.statistics.load_runs import summary_of
from tests.viewer.conftest import viewing
from tests.viewer.runs import add, create, failing_run, finish, make_run, people_run, record, talk
from tests.waiting import PATIENCE_S

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

CSS = By.CSS_SELECTOR


def drawn(driver):
    """Wait until every chart that can be seen has been drawn."""
    script = (
        "return [...document.querySelectorAll('figure.chart')].filter(f => f.offsetParent"
        " && f.getBoundingClientRect().top < innerHeight && !f.querySelector('.main-svg')).length"
    )
    until(driver, lambda d: d.execute_script(script) == 0)


def curves(driver, id):
    """The names of a chart's curves."""
    return driver.execute_script(
        "return document.getElementById(arguments[0]).querySelector('.plot').data"
        ".filter(t => t.showlegend !== false).map(t => t.name)",
        id,
    )


@pytest.fixture(scope="module")
def files(quickstart, hostile, tmp_path_factory):
    """Static files of both runs."""
    folder = tmp_path_factory.mktemp("files")
    load = summary_of(sweep(folder / "load"), {"f1": f1()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "load_summary", lambda run: load)
        write_report(quickstart, folder / "quick.html", resamples=100)
    write_report(hostile, folder / "evil.html", resamples=10)
    write_report(failing_run(folder / "failing"), folder / "failing.html", resamples=10)
    write_report(people_run(folder / "people"), folder / "people.html", resamples=10)
    write_report(checked_run(folder / "checked"), folder / "checked.html", resamples=10)
    return folder


@pytest.fixture
def quick(browser, files):
    # Another page first: from one place of a page to another of it, nothing is loaded anew.
    browser.get("about:blank")
    browser.get(f"file://{files / 'quick.html'}")
    return browser


def go(driver, title):
    driver.find_element(By.LINK_TEXT, title).click()
    until(driver, lambda d: d.find_element(CSS, "nav [aria-current]").text == title)


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


def harmless(driver):
    assert driver.execute_script("return window.hacked") is None
    strange = "main img, main iframe, main [onload], main [onerror], main u"
    assert driver.find_elements(CSS, strange) == []


@pytest.mark.parametrize("page", ["", "depth", "gold", "conversations", "conversation"])
def test_a_hostile_run_is_harmless_when_served(browser, viewer, page):
    address = f"{viewer}run/evil/{page if page != 'conversation' else 'conversations'}"
    browser.get(address)
    if page == "conversation":
        browser.find_element(CSS, "table.list a").click()
        until(browser, lambda d: shown(d, "table.sides"))
        assert "reversed" in shown(browser, "table.sides")[0].text
        assert "\u202e" not in shown(browser, "table.sides")[0].text
        for one in shown(browser, "table.sides summary"):
            one.click()
    until(browser, lambda d: not d.find_elements(CSS, "[data-pending]"))
    drawn(browser)
    harmless(browser)


def test_the_policy_would_stop_a_script_that_got_in(new_browser, viewer, files):
    """Escaping is the first wall; this is the second, tried with the first one left out."""
    with new_browser() as driver:
        for address in (f"{viewer}run/evil/", f"file://{files / 'quick.html'}"):
            driver.get(address)
            driver.execute_script(
                """
                document.getElementById('main').insertAdjacentHTML(
                    'beforeend', '<img src=x onerror="window.hacked=1">');
                const script = document.createElement('script');
                script.textContent = 'window.hacked=2';
                document.body.append(script);
                """
            )
            until(
                driver,
                lambda d: any("Content Security Policy" in one["message"] for one in d.get_log("browser")),
            )
            assert driver.execute_script("return window.hacked") is None


def test_every_served_view_opens(browser, viewer, quickstart):
    browser.get(viewer)
    browser.find_element(By.LINK_TEXT, "quickstart").click()
    for title in ("Overview", "By depth", "Gold against reality", "Conversations"):
        browser.find_element(By.LINK_TEXT, title).click()
        until(browser, lambda d: not d.find_elements(CSS, "[data-pending]"))
        until(browser, lambda d, title=title: [e.text for e in shown(d, "main h2")] == [title])
        drawn(browser)
    assert len(shown(browser, "table.list tbody tr")) == 20


def test_the_served_list_finds_as_one_types(browser, viewer, quickstart):
    browser.get(f"{viewer}run/{quickstart.name}/conversations")
    box = browser.find_element(By.NAME, "q")
    box.send_keys("harbour")
    until(browser, lambda d: 0 < len(d.find_elements(CSS, "table.list tbody tr")) < 20)
    assert "q=harbour" in browser.current_url
    browser.find_element(CSS, "table.list a").click()
    until(browser, lambda d: shown(d, "table.sides"))
    assert "harbour" in shown(browser, "table.sides")[0].text.lower()


def test_the_theme_is_switched_and_kept(browser, viewer, quickstart):
    browser.get(f"{viewer}run/{quickstart.name}/depth")
    until(browser, lambda d: not d.find_elements(CSS, "[data-pending]"))
    drawn(browser)
    background = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(background)
    button = browser.find_element(CSS, "button.theme")
    button.click()
    assert button.text == "Theme: light"
    button.click()
    assert button.text == "Theme: dark"
    assert browser.execute_script(background) != light
    ink = "const p = document.querySelector('#scores-by-depth .plot'); return " + INK
    until(browser, lambda d: d.execute_script(ink) == DARK_INK)
    browser.refresh()
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    browser.find_element(CSS, "button.theme").click()


def test_the_keyboard_reaches_the_content_and_the_switches(browser, viewer, quickstart):
    browser.get(f"{viewer}run/{quickstart.name}/depth")
    until(browser, lambda d: not d.find_elements(CSS, "[data-pending]"))
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    active = browser.switch_to.active_element
    assert active.text == "Skip to content"
    active.send_keys(Keys.ENTER)
    until(browser, lambda d: d.switch_to.active_element.get_attribute("id") == "main")
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("name") == "metric"
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(outline) != "none"


def test_a_narrow_screen_scrolls_in_one_direction_only(browser, viewer, quickstart):
    with screen(browser, 390):
        for page in ("", "depth", "gold", "conversations"):
            browser.get(f"{viewer}run/{quickstart.name}/{page}")
            until(browser, lambda d: not d.find_elements(CSS, "[data-pending]"))
            drawn(browser)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 390, page


@pytest.mark.long
def test_the_page_advances_while_the_run_goes_on(browser, tmp_path):
    """Turns are counted as they come, curves appear once they are scored, and nobody reloads anything."""
    store = create(tmp_path / "runs" / "live")
    try:
        asyncio.run(add(store, [talk("a")], [record("a", 1), record("a", 2)]))
        with viewing("--runs", "runs", cwd=tmp_path) as address:
            browser.get(f"{address}run/live/")
            browser.execute_script("window.untouched = true")
            counts = (
                "return [...document.querySelectorAll('.counts dd')].slice(0, 3).map(one => one.textContent)"
            )
            until(browser, lambda d: d.execute_script(counts) == ["1", "2", "2"])
            assert browser.find_element(By.ID, "state").text == "running"
            asyncio.run(
                add(store, [talk("b")], [record("b", 1), record("b", 2), record("b", 1, policy="pred")])
            )
            until(browser, lambda d: d.execute_script(counts) == ["2", "4", "5"])
            until(browser, lambda d: "5 asks" in d.find_element(By.ID, "progress").text)
            finish(store, {"f1": {("gold", c, d): 0.5 for c in "ab" for d in (1, 2)}})
            asyncio.run(store.flush())
            until(browser, lambda d: "50.0" in d.find_element(By.ID, "main").text)
            until(browser, lambda d: d.find_element(By.ID, "state").text == "finished")
            assert browser.execute_script("return window.untouched") is True
            go(browser, "By depth")
            until(browser, lambda d: d.find_elements(CSS, "#scores-by-depth"))
            drawn(browser)
            browser.get("about:blank")
    finally:
        store.close()


def test_a_real_run_is_watched_to_its_end(browser, tmp_path):
    file = with_changes(read_scenario(find_scenario("quickstart")), {"data": {"limit": 2}})
    (tmp_path / "runs").mkdir()
    playing = threading.Thread(target=play, args=(file,), kwargs={"runs": tmp_path / "runs"})
    with viewing("--runs", "runs", cwd=tmp_path) as address:
        playing.start()
        try:
            until(browser, lambda d: list((tmp_path / "runs").glob("*/run.db")))
            (folder,) = (tmp_path / "runs").iterdir()
            browser.get(f"{address}run/{folder.name}/")
            until(browser, lambda d: d.find_element(By.ID, "state").text == "finished")
            until(browser, lambda d: d.find_elements(CSS, "table.headline"))
            until(browser, lambda d: "rouge_l" in d.find_element(CSS, "table.headline").text)
            browser.get("about:blank")
        finally:
            playing.join(PATIENCE_S)


def test_axe_finds_nothing_serious_in_any_view_light_or_dark(browser, viewer, files, quickstart):
    script = axe_script()
    run = f"{viewer}run/{quickstart.name}/"
    addresses = [
        viewer,
        run,
        f"{run}depth",
        f"{run}gold",
        f"{run}conversations",
        f"{viewer}compare?run={quickstart.name}",
    ]
    file = f"file://{files / 'quick.html'}"
    addresses += [f"{file}#{name}" for name in ("load", "conversation-1")]  # its others are those above
    failing = f"file://{files / 'failing.html'}"
    addresses += [f"{failing}#{name}" for name in ("overview", "conversation-0")]
    addresses.append(f"file://{files / 'people.html'}#people")
    checked = f"file://{files / 'checked.html'}"
    addresses += [f"{checked}#{name}" for name in ("overview", "depth", "conversation-1")]
    found = {}
    for address in addresses:
        browser.get(address)  # another view of the same file is only shown, as by its link
        _, of_file, view = address.partition("#")
        if of_file:
            kind = view.partition("-")[0]
            until(browser, lambda d, kind=kind: shown(d, f"#{kind}.view h2"))
        until(browser, lambda d: not d.find_elements(CSS, "[data-pending]"))
        drawn(browser)
        browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        few_rows(browser)
        if browser.execute_script("return !window.axe"):
            # The driver's own channel, which a page's policy doesn't reach.
            browser.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
        problems = serious(browser, None)
        with dark(browser):  # of what axe looks at, colours alone
            problems += serious(browser, ["color-contrast", "link-in-text-block"])
        if problems:
            found[address.rsplit("/", 1)[-1]] = problems
    assert found == {}


def test_the_printed_link_opens_the_runs_and_keeps_its_token_to_itself(new_browser, quickstart, tmp_path):
    """In a browser of its own, without the cookies of others."""
    with viewing(str(quickstart), cwd=tmp_path, asks=True) as link, new_browser() as driver:
        address, token = link.split("?token=")
        driver.get(address)
        assert "That didn’t work" in driver.page_source
        driver.get(link)
        assert driver.current_url == address
        driver.find_element(By.CSS_SELECTOR, f'a[href="/run/{quickstart.name}/"]').click()
        assert driver.current_url == f"{address}run/{quickstart.name}/"
        assert token not in driver.page_source
        assert driver.execute_script("return document.cookie") == ""
