"""The search in the screen itself, as people use it: a real browser, a real server."""

from __future__ import annotations

import pytest

from tests.driving import CSS, Keys, axe_script, dark, screen, serious, until
from tests.study.pages.clicking import end_talk, enter
from tests.study.pages.pets import pets_study
from tests.study.serving import served_aside


@pytest.fixture
def judging(browser, tmp_path):
    """A browser on the screen of the first turn, and its study."""
    with served_aside(pets_study(tmp_path)) as pets:
        enter(browser, pets)
        browser.find_element(CSS, "main button.main").click()
        until(browser, lambda d: d.find_element(CSS, "#question")).send_keys("Who barks?")
        browser.find_element(CSS, ".say button").click()
        end_talk(browser)
        until(browser, lambda d: d.find_element(CSS, "form.search"))
        yield browser, pets


def found(driver):
    return [one.text for one in driver.find_elements(CSS, ".found li .said")]


def test_results_come_as_one_types_and_the_right_one_is_taken(judging):
    browser, pets = judging
    field = browser.find_element(CSS, "form.search input")
    field.send_keys("barks a")
    until(browser, lambda d: found(d) == ["Rex barks at the moon."])
    result, pane = (browser.find_element(CSS, one).rect for one in (".found .said", ".sources"))
    assert result["y"] + result["height"] < pane["y"] + pane["height"], "what was found is out of sight"
    # Numbers and letters are words to search here, and no keys.
    field.send_keys(Keys.CONTROL + "a", Keys.DELETE)
    field.send_keys("number 1")
    until(browser, lambda d: len(found(d)) == 11)
    assert not browser.find_elements(CSS, "input[type=radio]:checked")
    field.send_keys(Keys.CONTROL + "a", Keys.DELETE)
    field.send_keys("fish")
    until(browser, lambda d: "page 1 of 2" in d.find_element(CSS, ".found").text)
    browser.find_element(CSS, ".found a[rel=next]").click()
    until(browser, lambda d: "page 2 of 2" in d.find_element(CSS, ".found").text)
    field.send_keys(Keys.CONTROL + "a", Keys.DELETE)
    field.send_keys("meows", Keys.ENTER)
    until(browser, lambda d: len(found(d)) == 1)
    assert "/rate" in browser.current_url
    assert "search" not in browser.current_url
    assert not browser.execute_script("return window.harmed")

    for name, value in (("intent", "extractive"), ("correct", "0"), ("rank", "0")):
        browser.find_element(CSS, f"input[name={name}][value='{value}']").click()
    browser.find_element(CSS, ".take-passage").click()
    browser.find_element(CSS, "form.answer-form button.main").click()
    until(browser, lambda d: d.find_element(CSS, "main h2").text == "Done")
    (judgement,) = pets.store.judgements()[1].values()
    assert judgement.answer == {"intent": "extractive", "correct": 0, "rank": 0, "elsewhere": "a/b c&d"}


def test_a_turn_is_judged_by_keys_alone(judging):
    browser, pets = judging
    body = browser.find_element(CSS, "body")
    body.send_keys("2", "1", "1", Keys.ENTER)
    until(browser, lambda d: d.find_element(CSS, "main h2").text == "Done")

    (judgement,) = pets.store.judgements()[1].values()
    assert judgement.answer == {"intent": "abstractive", "correct": 1, "rank": 1}


def test_the_screen_with_its_results_is_accessible(judging):
    browser, _ = judging
    browser.find_element(CSS, "form.search input").send_keys("meows")
    until(browser, lambda d: len(found(d)) == 1)
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_script()})

    assert serious(browser, None) == []
    with dark(browser):
        assert serious(browser, ["color-contrast"]) == []
    with screen(browser, 360):
        assert serious(browser, None) == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
