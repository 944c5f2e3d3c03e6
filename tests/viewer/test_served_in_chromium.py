"""The served pages as people use them, in a real browser."""

from __future__ import annotations

import asyncio

import pytest

from tests.driving import (
    CSS,
    DARK_INK,
    INK,
    By,
    Keys,
    axe_script,
    dark,
    few_rows,
    screen,
    serious,
    shown,
    until,
)
from tests.viewer.browsing import drawn, go, harmless
from tests.viewer.conftest import viewing
from tests.viewer.runs import add, create, finish, record, talk


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
