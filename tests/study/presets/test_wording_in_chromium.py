"""A person's turn in a real browser: it appears by itself, and what is written goes to the run."""

from __future__ import annotations

import asyncio
import threading

import pytest

from replay.study.running import person
from replay.testing import wording_request
from replay.users.user import build_user
from tests.driving import CSS, Keys, axe_script, screen, until
from tests.study.pages.clicking import enter, every_look, go_on, heading, loaded, offline
from tests.study.serving import begun, served_aside

TURN = "textarea[name=turn]"


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setattr(person, "LOOKING_S", 0.01)
    with served_aside(begun("name: Turns\npreset: wording\nraters: [ann]\n", tmp_path)) as served:
        yield served


class Run(threading.Thread):
    """What a run does: it asks for the wording of one turn, and goes on with it."""

    def __init__(self, study, request) -> None:
        super().__init__(daemon=True)
        self.user = build_user({"person": {"study": str(study.store.path)}}, study.store.path.parent)
        self.request = request
        self.start()

    def run(self) -> None:
        self.wording = asyncio.run(self.user.word(self.request))

    def said(self) -> str:
        self.join()
        return self.wording.text


@pytest.fixture
def waiting(browser, study):
    """A browser in which nobody has asked for anything yet."""
    enter(browser, study)
    go_on(browser)
    assert heading(browser) == "Nothing to do just now"
    return browser


def turn_appears(driver):
    until(driver, lambda d: heading(d) == "Say it in your words")
    return driver.find_element(CSS, TURN)


def test_a_turn_appears_by_itself_and_the_run_gets_what_was_written(waiting, study):
    run = Run(study, wording_request())
    area = turn_appears(waiting)
    area.send_keys("It's 40233,\nfrom last week.")
    wait = loaded(waiting)
    area.send_keys(Keys.CONTROL + Keys.ENTER)
    wait()
    assert heading(waiting) == "Nothing to do just now"
    assert run.said() == "It's 40233,\nfrom last week."


def test_a_turn_is_skipped_by_a_button_of_its_own_and_counts_where_the_server_was_gone(waiting, study):
    run = Run(study, wording_request("refused"))
    turn_appears(waiting)
    with offline(waiting):
        waiting.find_element(CSS, "button[name=way_out]").click()
        until(waiting, lambda d: "Nothing is lost" in d.find_element(CSS, "[role=alert]").text)
    waiting.get_log("browser")  # that nothing was reached
    # A message after all: the button that was pressed in vain is forgotten.
    waiting.find_element(CSS, TURN).send_keys("Can I still cancel it?")
    go_on(waiting)
    assert run.said() == "Can I still cancel it?"
    run = Run(study, wording_request("misread"))
    turn_appears(waiting)
    wait = loaded(waiting)
    waiting.find_element(CSS, "button[name=way_out]").click()
    wait()
    assert run.said() == ""
    assert run.wording.move == "skip"


def test_an_empty_message_is_not_sent(waiting, study):
    Run(study, wording_request())
    turn_appears(waiting)
    waiting.find_element(CSS, "main button.main").click()
    assert waiting.switch_to.active_element.get_attribute("name") == "turn"
    assert study.store.judgements() == {}


def test_a_turn_fits_a_phone_and_a_desk(waiting, study):
    Run(study, wording_request())
    turn_appears(waiting)
    for width in (1280, 390):
        with screen(waiting, width):
            assert waiting.execute_script("return document.documentElement.scrollWidth") <= width
            for selector in ("button.main", "button[name=way_out]"):
                place = waiting.execute_script(
                    "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector
                )
                assert place["left"] >= 0
                assert place["right"] <= width
                assert place["height"] < 60, f"{selector} is broken into lines at {width}"


def test_axe_finds_nothing_serious_on_a_turn(waiting, study):
    Run(study, wording_request())
    turn_appears(waiting)
    assert every_look(waiting, axe_script()) == []
