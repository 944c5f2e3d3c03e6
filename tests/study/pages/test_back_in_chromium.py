"""Back after Save, as people do it: with the page that the browser kept, without it, and in two tabs."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from replay.study.running.export import judgement_rows
from tests.driving import CSS, By, Keys, until
from tests.study.pages.clicking import enter, go_on, heading, next_page, without_scripts
from tests.study.serving import begun, served_aside

YES, NO = "1", "0"
HOW_IT_CAME = """
const [page] = performance.getEntriesByType("navigation")
return window.sent ? "kept" : page.type"""
"""By Back: as it was kept, as it was kept and then loaded anew, or loaded."""


@pytest.fixture
def study(quick_run, tmp_path):
    """Three answers to rate with yes or no."""
    text = f"name: check\npreset: {{rating: {{answers: 3}}}}\nruns: ['{quick_run}']\nraters: [ann]\n"
    with served_aside(begun(text, tmp_path)) as served:
        yield served


@pytest.fixture
def working(browser, study):
    """A browser on the first answer."""
    enter(browser, study)
    go_on(browser)
    return browser


@contextmanager
def nothing_kept(driver):
    """For Back every page is loaded: none that minds being left can be kept."""
    source = {"source": "addEventListener('unload', () => {})"}
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    driver.refresh()
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def save(driver, rating):
    """Choose *rating*, and save it; what is sent has left its mark on the page."""
    before = driver.current_url
    driver.find_element(CSS, f"input[name=rating][value='{rating}']").click()
    driver.execute_script("window.sent = true")
    driver.find_element(CSS, "main button.main").click()
    until(driver, lambda d: d.current_url != before and d.find_element(CSS, "main h2"))


def back(driver):
    """As the browser's button does; returns how the page came."""
    here = driver.current_url
    driver.back()
    until(
        driver,
        lambda d: d.current_url != here and d.execute_script("return document.readyState") == "complete",
    )
    return here


def chosen(driver):
    return [one.get_attribute("value") for one in driver.find_elements(CSS, "input[name=rating]:checked")]


def saved(study):
    """The ratings in the order in which they were asked for; the first one before a corrected one."""
    found = {}
    for assignment, steps in study.store.judgements().items():
        (one,) = steps.values()
        found[assignment] = [each.answer["rating"] for each in (one.first, one) if each]
        assert one.first is None or one.first.at < one.at
    return list(found.values())


@pytest.mark.parametrize("way", ["kept", "loaded"])
def test_back_shows_what_was_saved_there_and_the_next_question_stays_empty(working, study, way):
    with nothing_kept(working) if way == "loaded" else without_effect():
        first = working.current_url
        save(working, NO)
        second = back(working)
        came = until(
            working, lambda d: d.execute_script(HOW_IT_CAME) != "kept" and d.execute_script(HOW_IT_CAME)
        )
        assert came == {"kept": "reload", "loaded": "back_forward"}[way]
        assert (working.current_url, chosen(working)) == (first, [NO])
        assert "You can still change it" in working.find_element(CSS, "main").text
        working.forward()
        until(working, lambda d: d.current_url == second)
        assert chosen(working) == []
    assert saved(study) == [[0]]


@pytest.mark.parametrize("way", ["kept", "loaded", "without scripts"])
def test_what_is_changed_after_back_counts_and_is_kept_beside_the_first_answer(working, study, way):
    ways = {
        "kept": without_effect(),
        "loaded": nothing_kept(working),
        "without scripts": without_scripts(working),
    }
    with ways[way]:
        save(working, NO)
        second = back(working)
        if way == "kept":
            until(working, lambda d: d.execute_script(HOW_IT_CAME) != "kept")
        save(working, YES)
        if way == "without scripts":  # the very page that was sent: is it the same click, come late?
            assert "had been sent before" in working.find_element(CSS, "[role=alert]").text
            assert saved(study) == [[0]]
            assert chosen(working) == [YES]
            save(working, YES)
        assert working.current_url == second, "and on with the work"
        assert chosen(working) == []
    assert saved(study) == [[0, 1]]
    (row,) = judgement_rows(study.store.state())
    assert (row["value"], row["first_value"]) == (1, 0)
    assert row["first_at"] < row["at"]
    working.get_log("browser")  # that one answer was a 422


def without_effect():
    return contextmanager(lambda: (yield))()


def test_two_tabs_save_what_each_of_them_shows(working, study):
    one = working.current_window_handle
    working.switch_to.new_window("tab")
    other = working.current_window_handle
    try:
        working.get(f"{study.address}/rate")
        working.switch_to.window(one)
        save(working, YES)
        working.switch_to.window(other)
        save(working, NO)
        assert saved(study) == [[1, 0]]
        save(working, YES)
        third = working.current_url
        working.switch_to.window(one)
        save(working, NO)
        assert saved(study) == [[1, 0], [1, 0]]
        assert working.current_url == third
        back(working)
        save(working, YES)
        assert saved(study) == [[1, 0], [1, 1]], "once more the first one"
    finally:
        working.switch_to.window(other)
        working.close()
        working.switch_to.window(one)


def test_the_page_has_a_way_back_of_its_own_also_when_all_is_done(working, study):
    for _ in range(3):
        save(working, NO)
    assert heading(working) == "Done"
    working.find_element(By.LINK_TEXT, "Look at your last answer again").click()
    until(working, chosen)
    next_page(working, Keys.BACKSPACE)
    assert chosen(working) == [NO]
    save(working, YES)
    assert heading(working) == "Done"
    assert saved(study) == [[0], [0, 1], [0]]
