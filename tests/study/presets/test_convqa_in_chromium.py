"""A small ``convqa`` study as people go through it: in a real browser, by keys, with the embedded system."""

from __future__ import annotations

import json

import pytest

from replay.core.conversation import Conversation, Passage, Turn
from replay.datasets.native import write_native
from tests.driving import CSS, Keys, axe_script, screen, serious, until
from tests.study.pages.clicking import end_talk, enter, go_on, heading, next_page, select
from tests.study.serving import begun, served_aside

TEXT = "The dog sleeps in the kitchen. The cat sleeps on the roof of the  barn.\nRex was born in 1999."
QUESTIONS = ("Where does the dog sleep?", "Where does the cat sleep?")


@pytest.fixture
def study(tmp_path):
    """One conversation of two questions, which two others validate; each begins with a practice item."""
    about = Conversation(
        id="pets",
        title="Pets",
        passages=(Passage(id="p", text=TEXT),),
        turns=(Turn(id="q", question=QUESTIONS[0]),),
    )
    write_native([about], tmp_path / "data.jsonl")
    pair = {"question": "Is it?", "answer": "red", "judged": "answerable", "correct": 1}
    (tmp_path / "practice.jsonl").write_text(json.dumps({"passage": "It is red.", "pairs": [pair]}) + "\n")
    text = """
name: Pets
preset: {convqa: {fewest_turns: 2, most_turns: 2, conversations: 1}}
data: {path: data.jsonl}
systems: [{name: hidden-name, adapter: extractive}]
raters: [ann, ben, cleo]
practice: {items: practice.jsonl}
limits: {between_messages_s: 0}
"""
    with served_aside(begun(text, tmp_path)) as served:
        yield served


def come(driver, study, rater, look=lambda driver: None):
    """*rater* comes, reads, and passes the practice; *look* at each of its screens."""
    enter(driver, study, rater)
    go_on(driver)
    assert heading(driver) == "Question 1 of 1"
    next_page(driver, "1", Keys.ENTER)
    assert heading(driver) == "Question 1 of 1: the answer"
    look(driver)
    next_page(driver, Keys.BACKSPACE)
    assert "be changed any more" in driver.page_source
    assert driver.find_elements(CSS, "form.answer-form") == []
    look(driver)
    driver.get(study.address + "/rate")
    next_page(driver, "1", Keys.ENTER)
    assert heading(driver) == "Correct"
    look(driver)
    go_on(driver)
    assert heading(driver) == "Practice passed"
    look(driver)
    go_on(driver)


@pytest.mark.parametrize("width", [360, pytest.param(1200, marks=pytest.mark.long)])
def test_practice_has_no_serious_accessibility_findings_and_fits(browser, study, width):
    script = axe_script()

    def look(driver):
        driver.execute_script(script)
        assert serious(driver, None) == []
        wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0

    with screen(browser, width):
        come(browser, study, 1, look)


def test_a_conversation_is_had_judged_and_validated(browser, study):
    come(browser, study, 1)
    assert heading(browser) == "Conversation"
    for question in QUESTIONS:
        assert "born in 1999" not in browser.page_source
        assert "hidden-name" not in browser.page_source
        field = until(browser, lambda d: d.find_element(CSS, "#question:enabled"))
        if question == QUESTIONS[0]:
            assert field.get_attribute("value") == question, "the data's first question is given"
        else:
            field.send_keys(question)
        go_on(browser)
    end_talk(browser)
    until(browser, lambda d: heading(d) == "Answer 1 of 2")
    assert "born in 1999" in browser.page_source
    next_page(browser, "1", Keys.ENTER)
    next_page(browser, "1", Keys.ENTER)
    assert heading(browser) == "Done"

    come(browser, study, 2)
    assert heading(browser) == "Question 1 of 2"
    given = "The dog sleeps in the kitchen."
    assert browser.page_source.count(given) == 1, "in the passage, and not as the answer"
    next_page(browser, "1", Keys.ENTER)
    assert heading(browser) == "Question 1 of 2: the answer"
    assert browser.page_source.count(given) == 2
    assert "hidden-name" not in browser.page_source
    next_page(browser, "1", Keys.ENTER)
    next_page(browser, "1", Keys.ENTER)
    next_page(browser, "2", Keys.ENTER)
    assert heading(browser) == "Question 2 of 2: the right answer"
    span = "on the roof of the  barn.\nRex"
    select(browser, ".sources .said", span)
    browser.find_element(CSS, "button.take").click()
    assert browser.find_element(CSS, "textarea[data-span]").get_attribute("value") == span
    go_on(browser)
    assert heading(browser) == "Done"

    come(browser, study, 3)
    next_page(browser, "1", Keys.ENTER)
    next_page(browser, "1", Keys.ENTER)
    next_page(browser, "2", Keys.ENTER)
    assert heading(browser) == "Done"

    found = study.results
    (about,) = found.data_set
    assert [turn.gold_answers for turn in about.turns] == [(given,), (span,)]
    accuracy = [one.value for one in found.scores if one.name == "human_accuracy"]
    assert accuracy == [1, 0]
