"""A talk as people have it: a real browser, a real server, and a system that answers when it is let."""

from __future__ import annotations

import pytest

from replay.core.errors import AdapterRefusedError
from replay.study import tasks
from replay.study.running import live
from tests.driving import CSS, Keys, axe_script, until
from tests.study import held
from tests.study.pages.clicking import end_talk, enter, every_look, offline
from tests.study.serving import begun, served_aside
from tests.study.talks import study_file
from tests.viewer.runs import EVIL

SYSTEM = {"adapter": "python", "settings": {"target": "tests.study.held:answer"}}


@pytest.fixture(autouse=True)
def system():
    held.GO.set()
    yield held
    held.GO.set()
    held.ANSWERS.clear()


@pytest.fixture
def study(tmp_path, chat):
    text = study_file(SYSTEM, preset={"fewest": 2, "most": 3})
    with served_aside(begun(text, tmp_path)) as served:
        yield served


@pytest.fixture
def talk(browser, study):
    """A browser at the beginning of a talk."""
    enter(browser, study)
    browser.find_element(CSS, "main button.main").click()
    until(browser, lambda d: d.find_element(CSS, "#question"))
    return browser


def say(driver, text):
    box = driver.find_element(CSS, "#question")
    box.clear()
    box.send_keys(text, Keys.ENTER)


def waits(driver):
    """On a page that waits for an answer."""
    return until(driver, lambda d: d.find_element(CSS, "[data-state]"))


def texts(driver, selector):
    return [one.text for one in driver.find_elements(CSS, selector)]


def test_an_answer_comes_into_the_page_and_the_next_question_can_be_typed(talk, system):
    system.GO.clear()
    say(talk, "one?")
    assert waits(talk).text == "The system is answering …"
    assert talk.find_element(CSS, "[data-state]").get_attribute("role") == "status"
    talk.execute_script("window.here = true; window.log = document.querySelector('[role=log]')")
    system.GO.set()
    until(talk, lambda d: texts(d, ".answer") == ["To one?"])
    until(talk, lambda d: d.switch_to.active_element.get_attribute("id") == "question")
    # The same page, and the same log, to which the answer was added: that is what is read out.
    assert talk.execute_script("return window.here && window.log.isConnected && window.log.ariaLabel")
    assert texts(talk, ".transcript li .question") == ["one?"]

    talk.switch_to.active_element.send_keys("two", Keys.SHIFT, Keys.ENTER, Keys.NULL, "lines?", Keys.ENTER)
    until(talk, lambda d: texts(d, ".answer") == ["To one?", "To two\nlines?"])
    say(talk, "three?")
    end_talk(talk)
    until(talk, lambda d: d.find_element(CSS, "main h2").text == "Was it good?")


def test_the_page_says_when_it_takes_long_and_when_the_connection_is_lost(talk, system, monkeypatch):
    system.GO.clear()
    say(talk, "one?")
    waits(talk)
    monkeypatch.setattr(tasks, "SLOW_S", 0.0)
    until(talk, lambda d: waits(d).text.startswith("This takes longer than usual."))
    with offline(talk):
        until(talk, lambda d: waits(d).text.startswith("The connection is lost"))
    until(talk, lambda d: waits(d).text.startswith("This takes longer than usual."))
    system.GO.set()
    until(talk, lambda d: texts(d, ".answer") == ["To one?"])
    talk.get_log("browser")


def test_a_failure_comes_into_the_page_with_what_can_be_done(talk, system):
    system.ANSWERS[:] = [AdapterRefusedError("secret words")]
    system.GO.clear()
    say(talk, "one?")
    waits(talk)
    system.GO.set()
    until(talk, lambda d: texts(d, ".failed h3") == ["No answer came"])
    assert texts(talk, "#next button") == ["Try again", "Ask something else", "Set this conversation aside"]
    until(talk, lambda d: d.switch_to.active_element.text == "Try again")
    assert "secret" not in talk.page_source
    talk.refresh()  # and where the page comes with it
    until(talk, lambda d: d.switch_to.active_element.text == "Try again")
    talk.switch_to.active_element.send_keys(Keys.ENTER)
    until(talk, lambda d: texts(d, ".answer") == ["To one?"])


def test_a_hostile_answer_is_only_text(talk, system, study):
    where = "const at = document.querySelector('main h2').getBoundingClientRect(); return [at.y, at.height]"
    before = talk.execute_script(where)
    hostile = EVIL + " \u202e\u2066 last words"
    system.ANSWERS[:] = [hostile, hostile + "W" * 1_000_000]
    for number, question in enumerate((EVIL.replace("\x00", "").replace("\udc80", ""), "two?"), 1):
        talk.execute_script("document.getElementById('question').value = arguments[0]", question)
        talk.find_element(CSS, "#next button.main").click()
        until(talk, lambda d, number=number: len(texts(d, ".transcript > li")) == number)
        until(talk, lambda d: d.find_elements(CSS, "#question"))
    for loaded_anew in (False, True):
        if loaded_anew:
            talk.refresh()
        shown = talk.find_element(CSS, ".transcript").text
        assert "</script><script>window.hacked = 1</script>" in shown
        assert "{{ 7 * 7 }}" in shown
        assert "⟨U+202E⟩⟨U+2066⟩ last words" in shown
        assert not {"\u202e", "\u2066", "\x00"} & set(talk.page_source)
        assert talk.execute_script("return window.hacked") is None
        assert talk.find_elements(CSS, "main img, main svg, main script") == []
        assert talk.execute_script("scrollTo(0, 0); " + where) == before
        assert talk.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert "more characters are left out here" in talk.page_source
        assert len(talk.page_source) < 300_000
    # Kept as it came, but for what SQLite can't take.
    assert study.store.talks(1)[1][1].answer == (hostile + "W" * 1_000_000).replace("\udc80", "?")


def test_axe_finds_nothing_serious_in_a_talk(talk, system, monkeypatch):
    script = axe_script()
    found = {}

    def look(name):
        if problems := every_look(talk, script):
            found[name] = problems

    look("first")
    system.GO.clear()
    system.ANSWERS[:] = ["one " * 1000, AdapterRefusedError("no")]
    say(talk, "one?")
    waits(talk)
    look("waiting")
    system.GO.set()
    until(talk, lambda d: d.find_elements(CSS, "#question"))
    talk.find_element(CSS, "summary").click()
    look("answered")
    say(talk, "two?")
    until(talk, lambda d: d.find_elements(CSS, ".failed"))
    look("failed")
    talk.find_elements(CSS, "#next button")[1].click()
    until(talk, lambda d: d.find_elements(CSS, "#question"))
    monkeypatch.setattr(live.Talking, "say", lambda *_: "This was not sent.")
    say(talk, "three?")
    until(talk, lambda d: d.find_elements(CSS, "#about-question"))
    look("refused")
    talk.get_log("browser")
    assert found == {}
