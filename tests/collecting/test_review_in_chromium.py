"""A review as somebody does it: in a real browser, on a wide screen and on a phone."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest

from replay.collecting.suite import Suite, read_replaced, replaced_path
from tests.adapters.servers import in_a_thread
from tests.collecting.test_review import collected, folder, reviewing
from tests.driving import axe_script, dark, screen, serious, until

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

__all__ = ["collected", "folder"]
CSS = By.CSS_SELECTOR


@pytest.fixture
def address(folder):
    @asynccontextmanager
    async def serving():
        async with reviewing(folder) as (_, at):
            yield at

    with in_a_thread(serving()) as at:
        yield at


def press(driver, text):
    """Press the button with *text*, and wait for the next page."""
    driver.execute_script("window.here = true")
    button = next(one for one in driver.find_elements(CSS, "button") if one.text == text)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    until(driver, lambda d: d.execute_script("return !window.here && document.readyState === 'complete'"))


def heading(driver):
    return driver.find_element(CSS, "main h2").text


def test_a_suite_is_looked_through(browser, address, folder):
    """Accepted with an expectation, edited, dropped; a restart of the server loses nothing."""
    browser.get(address)
    browser.find_element(CSS, "a.go").click()
    until(browser, lambda d: heading(d).startswith("c0001"))

    field = browser.find_element(By.NAME, "expect-2")
    field.send_keys("contians: Tuesday")
    told = "//textarea[@name='expect-2']/ancestor::label/following-sibling::p[1]"
    until(browser, lambda d: "did you mean" in d.find_element(By.XPATH, told).text)
    field.clear()
    field.send_keys("contains: Tuesday")
    until(browser, lambda d: d.find_element(By.XPATH, told).text == "1 check")
    browser.find_element(By.NAME, "key-2").click()
    press(browser, "Accept")

    assert heading(browser).startswith("c0002")
    mark = browser.find_element(CSS, "p.said mark")
    assert mark.get_attribute("title") == "name, was: Ann Lee"
    browser.find_element(CSS, ".turn details.edit summary").click()
    answer = browser.find_element(By.NAME, "answer-1")
    answer.clear()
    answer.send_keys("Yes, it is.")
    browser.find_element(By.NAME, "leak").send_keys("lamp")
    Select(browser.find_element(By.NAME, "kind")).select_by_visible_text("secret")
    press(browser, "Replace everywhere")
    assert "replaced 1 times" in browser.find_element(CSS, ".note").text
    press(browser, "Drop")

    assert heading(browser).startswith("c0003")
    assert browser.find_element(CSS, ".progress").text == "1 accepted, 1 dropped, 2 to look at"
    entries = Suite(folder).entries()
    assert [one.status for one in entries] == ["accepted", "dropped", "open", "open"]
    assert entries[0].key_turns == (2,)
    assert entries[0].conversation.turns[1].expect[0].value == "Tuesday"
    assert entries[1].conversation.turns[0].gold_answers == ("Yes, it is.",)
    assert "lamp" not in entries[1].conversation.turns[0].question
    assert read_replaced(replaced_path(folder))["c0002"][1][-1].original == "lamp"
    assert json.loads((folder / "dropped.jsonl").read_text("utf-8"))["id"] == "c0002"


def test_what_is_wrong_is_shown_where_it_stands(browser, address):
    browser.get(f"{address}/conversation/c0003")
    browser.find_element(By.NAME, "expect-1").send_keys("contians: x")
    browser.execute_script("document.querySelector('form').noValidate = true")
    with_error = browser.find_element(CSS, "button.primary")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", with_error)
    with_error.click()
    until(browser, lambda d: d.find_element(CSS, ".turn .problem").text.startswith("contians"))
    assert browser.find_element(By.NAME, "expect-1").get_attribute("value") == "contians: x"
    assert any("422" in entry["message"] for entry in browser.get_log("browser"))


def test_enter_replaces_what_was_typed(browser, address, folder):
    browser.get(f"{address}/conversation/c0002")
    browser.execute_script("window.here = true")
    browser.find_element(By.NAME, "leak").send_keys("Leeds\n")
    until(browser, lambda d: d.execute_script("return !window.here && document.readyState === 'complete'"))
    assert "replaced 1 times" in browser.find_element(CSS, ".note").text
    values = read_replaced(replaced_path(folder))["c0002"][1]
    assert [value.original for value in values] == ["Ann Lee", "Ann", "Leeds"]


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_have_room(browser, address, width):
    with screen(browser, width):
        for path in ("/", "/conversation/c0003"):
            browser.get(address + path)
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.execute_script(wide) == 0, path
            labels = "[...document.querySelectorAll('label.matters')]"
            one_line = f"return {labels}.every(label => label.getBoundingClientRect().height < 40)"
            assert browser.execute_script(one_line)


def test_pages_can_be_read_out(browser, address):
    """By axe, in light and in dark, with everything unfolded."""
    script = axe_script()
    for path in ("/", "/conversation/c0003"):
        browser.get(address + path)
        browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        browser.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
        assert serious(browser, None) == []
        with dark(browser):
            assert serious(browser, ["color-contrast", "link-in-text-block"]) == []
