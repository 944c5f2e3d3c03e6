"""The screens as people use them: a real browser, a real server, and a preset that shows all there is."""

from __future__ import annotations

import pytest

from replay.study.running import study_file
from replay.study.running.start import write_starter
from replay.study.running.study_file import PRESETS
from tests.driving import CSS, By, Keys, axe_script, screen, until
from tests.study.pages.clicking import (
    enter,
    every_look,
    go_on,
    heading,
    next_page,
    offline,
    press,
    select,
    without_scripts,
)
from tests.study.pages.showcase import SPACED, Showcase
from tests.study.serving import begun, served_aside

SCREENS = {"span": "Question 1", "two": "Which is better?", "words": "In your words"}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Two raters, one task of three screens."""
    monkeypatch.setattr(study_file, "PRESETS", {"showcase": Showcase})
    consent = "{text: 'Your answers are kept.\n\nNothing else is.', version: '2'}"
    with served_aside(begun(f"name: A study\npreset: showcase\nconsent: {consent}\n", tmp_path)) as served:
        yield served


@pytest.fixture
def working(browser, study):
    """A browser on the first screen of the first task."""
    enter(browser, study)
    for _ in ("consent", "instructions"):
        go_on(browser)
    return browser


def focused(driver):
    return driver.execute_script("return document.activeElement.textContent")


def first_answers(study):
    return {step: one.answer for step, one in study.store.judgements().get(1, {}).items()}


def test_keys_alone_go_through_a_study(browser, study):
    enter(browser, study)
    assert focused(browser) == "Before you begin"
    next_page(browser, Keys.TAB, Keys.ENTER)
    assert focused(browser) == "What to do"
    next_page(browser, Keys.TAB, Keys.ENTER)
    assert focused(browser) == heading(browser) == "Question 1"
    next_page(browser, "1", "2", Keys.ENTER)
    assert focused(browser) == heading(browser) == "Which is better?"
    next_page(browser, "2", Keys.ENTER)
    assert heading(browser) == "In your words"
    press(browser, "c", "unsure")
    browser.find_element(CSS, "textarea[name=why]").send_keys("both\ntrue")
    next_page(browser, Keys.CONTROL + Keys.ENTER)
    assert heading(browser) == "Done"
    assert first_answers(study) == {
        "span": {"correct": 1, "kind": 0},
        "two": {"better": 0},
        "words": {"why": "both\ntrue"},
    }
    assert study.store.judgements()[1]["words"].comment == "unsure"


def test_going_back_shows_the_answer_and_a_change_counts(working, study):
    next_page(working, "1", "1", Keys.ENTER)
    next_page(working, Keys.BACKSPACE)
    assert heading(working) == "Question 1"
    assert working.find_element(CSS, "input[name=kind]:checked").get_attribute("value") == "1"
    working.find_element(CSS, "input[name=kind][value='0']").click()
    go_on(working)
    assert heading(working) == "Which is better?"
    assert first_answers(study) == {"span": {"correct": 1, "kind": 0}}
    # What was not reached yet is no link; what was reached is one, also from an earlier screen.
    assert [one.tag_name for one in working.find_elements(CSS, "nav.steps > *")] == ["a", "a", "span"]


@pytest.mark.parametrize("way", ["key", "button"])
def test_what_is_selected_in_a_passage_is_taken_over_word_for_word(working, study, way):
    span = SPACED[SPACED.index("in  1921") : SPACED.index(" it was")]
    select(working, ".sources .said", span)
    if way == "key":
        press(working, "t")
    else:
        working.find_element(CSS, "button.take").click()
    area = working.find_element(CSS, "textarea[name=span]")
    assert area.get_property("value") == span
    assert working.switch_to.active_element == area
    working.find_element(CSS, "main h2").click()
    for name in ("correct", "kind"):
        working.find_element(CSS, f"input[name={name}]").click()
    go_on(working)
    assert first_answers(study)["span"]["span"] == span


def test_what_is_wrong_is_told_and_has_the_focus(working, study):
    press(working, "1", "1")
    working.find_element(CSS, "textarea[name=span]").send_keys("opened in 1921")
    go_on(working)
    alert = working.switch_to.active_element
    assert alert.get_attribute("role") == "alert"
    assert "word for word" in alert.text
    wrong = working.find_element(CSS, "fieldset.wrong")
    assert alert.find_element(CSS, "a").get_attribute("href").endswith(f"#{wrong.get_attribute('id')}")
    assert working.find_element(CSS, "textarea[name=span]").get_property("value") == "opened in 1921"
    assert working.find_element(CSS, "input[name=kind]:checked")
    assert first_answers(study) == {}
    working.get_log("browser")  # that the answer was a 422


def test_an_empty_form_is_not_sent_and_its_first_question_has_the_focus(working, study):
    press(working, Keys.ENTER)
    assert working.switch_to.active_element.get_attribute("name") == "correct"
    assert first_answers(study) == {}


def test_where_the_server_is_gone_the_page_stays_and_the_second_try_counts_once(working, study):
    press(working, "1", "2")
    with offline(working):
        press(working, Keys.ENTER)
        told = until(working, lambda d: d.find_element(CSS, "[role=alert]"))
        assert "Nothing is lost" in told.text
        assert working.find_element(CSS, "input[name=kind]:checked").get_attribute("value") == "0"
    working.get_log("browser")  # that nothing was reached
    next_page(working, Keys.ENTER)
    assert heading(working) == "Which is better?"
    assert first_answers(study) == {"span": {"correct": 1, "kind": 0}}


def test_keys_are_shown_and_can_be_turned_off(working):
    press(working, "?")
    dialog = working.find_element(CSS, "dialog[open]")
    assert "Backspace" in dialog.text
    dialog.find_element(CSS, ".keys-on").click()
    press(working, Keys.ESCAPE, "1")
    assert not working.find_elements(CSS, "dialog[open], input:checked:not([type=checkbox])")
    working.find_element(CSS, "button.show-keys").click()
    working.find_element(CSS, ".keys-on").click()
    press(working, Keys.ESCAPE)
    working.find_element(CSS, "main h2").click()
    press(working, "1")
    assert working.find_elements(CSS, "input[name=correct]:checked")


def test_everything_works_without_scripts(browser, study):
    browser.delete_all_cookies()
    with without_scripts(browser):
        browser.get(study.rater_link(1))
        for shown in ("Before you begin", "What to do"):
            until(browser, lambda d, shown=shown: heading(d) == shown)
            browser.find_element(CSS, "main button.main").click()
        for shown, chosen in (("Question 1", ["correct", "kind"]), ("Which is better?", ["better"])):
            until(browser, lambda d, shown=shown: heading(d) == shown)
            assert not browser.find_element(CSS, "button.show-keys").is_displayed()
            assert not any(one.is_displayed() for one in browser.find_elements(CSS, "button.take"))
            for name in chosen:
                browser.find_element(CSS, f"input[name={name}]").click()
            browser.find_element(CSS, "main button.main").click()
        until(browser, lambda d: heading(d) == "In your words")
        browser.find_element(By.LINK_TEXT, "Back").click()
        until(browser, lambda d: heading(d) == "Which is better?")
        assert browser.find_element(CSS, "input[name=better]:checked")
    assert first_answers(study).keys() == {"span", "two"}


def box(driver, selector):
    return driver.execute_script(
        "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector
    )


def test_what_is_judged_stands_beside_its_passages_or_below_them_on_a_phone(working):
    for step in range(3):
        for width in (1280, 640, 360):  # 640 is 1,280 at twice the size
            with screen(working, width):
                wide = working.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, f"screen {step + 1} is {wide} wide at {width}"
                if step == 0:
                    sources, work = box(working, ".sources"), box(working, ".work")
                    if width == 1280:
                        assert sources["right"] < work["left"]
                        assert sources["bottom"] <= 800 + sources["top"]
                    else:
                        assert sources["bottom"] <= work["top"]
                if width == 360:
                    button = box(working, "button.main")
                    assert button["bottom"] <= 800
                    assert button["height"] >= 44
                    assert all(one.size["height"] >= 44 for one in working.find_elements(CSS, ".option"))
                if step == 1:
                    first, second = (
                        box(working, ".beside > :first-child"),
                        box(working, ".beside > :last-child"),
                    )
                    assert (first["right"] < second["left"]) == (width == 1280)
        next_page(working, *(("1", "2", Keys.ENTER), ("1", Keys.ENTER), (Keys.BACKSPACE,))[step])


INNER_SCROLLS = """
return [...document.querySelectorAll("body *")].filter((one) => {
  const style = getComputedStyle(one);
  return one.checkVisibility() && (
    (/auto|scroll/.test(style.overflowY) && one.scrollHeight > one.clientHeight + 1)
    || (/auto|scroll/.test(style.overflowX) && one.scrollWidth > one.clientWidth + 1));
}).map((one) => one.outerHTML.slice(0, 80));
"""


def test_on_a_phone_nothing_scrolls_inside_a_box(working):
    with screen(working, 390):
        for step in range(3):
            for more in working.find_elements(CSS, "main details"):
                working.execute_script("arguments[0].open = true", more)
            assert working.execute_script(INNER_SCROLLS) == [], f"screen {step + 1}"
            if step < 2:
                next_page(working, *(("1", "2", Keys.ENTER), ("1", Keys.ENTER))[step])


def test_options_do_not_move_when_one_is_chosen(working):
    places = (
        "return [...document.querySelectorAll('.option')].map(o => JSON.stringify(o.getBoundingClientRect()))"
    )
    for width in (1280, 390):
        with screen(working, width):
            before = working.execute_script(places)
            assert len(before) > 3
            for option in working.find_elements(CSS, ".option input"):
                working.execute_script("arguments[0].click()", option)
                assert working.execute_script(places) == before


def test_the_passage_scrolls_on_its_own_while_what_is_judged_stays(working):
    before = box(working, ".work")["top"]
    working.execute_script("document.querySelector('.sources').scrollTop = 500")
    assert working.execute_script("return document.querySelector('.sources').scrollTop") == 500
    assert working.find_element(CSS, ".sources").accessible_name == "What to judge by"
    assert box(working, ".work")["top"] == before


def test_a_hostile_text_is_only_text(working):
    assert working.title == "A study"
    assert "<script>" in working.find_element(CSS, ".transcript .answer").text
    assert (
        working.execute_script("return document.querySelectorAll('main script:not([src]), main img').length")
        == 0
    )


def test_a_printed_screen_holds_all_of_its_texts(working):
    working.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for selector in (".sources", ".work .long"):
            cut = "const s = document.querySelector(arguments[0]); return s.scrollHeight - s.clientHeight"
            assert working.execute_script(cut, selector) <= 0
            assert not working.find_element(CSS, "main button.main").is_displayed()
            next_page(working, "1", "1", Keys.ENTER)
    finally:
        working.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_axe_finds_nothing_serious_on_any_screen_light_dark_or_on_a_phone(browser, study):
    script = axe_script()
    found = {}

    def look(name):
        if problems := every_look(browser, script):
            found[name] = problems

    enter(browser, study)
    for name in ("consent", "instructions"):
        look(name)
        go_on(browser)
    look("span")
    press(browser, "1", "2")
    look("chosen")
    next_page(browser, Keys.ENTER)
    look("two")
    next_page(browser, "1", Keys.ENTER)
    press(browser, "?")
    look("keys")
    press(browser, Keys.ESCAPE)
    browser.find_element(CSS, "textarea[name=why]").send_keys("so")
    go_on(browser)
    look("done")
    browser.get(f"{study.address}/rate?token=nobody")
    look("refused")
    browser.get_log("browser")
    assert found == {}


def fill(driver):
    """The first option of each field, and words in each text that is asked for."""
    for options in driver.find_elements(CSS, ".options"):
        options.find_element(CSS, "input").click()
    for area in driver.find_elements(CSS, "textarea:required"):
        if not area.get_property("value"):
            area.send_keys("When was that?")


# Between them the two that are always looked at have a talk, passages, a search, and texts beside each other.
@pytest.mark.parametrize(
    "preset",
    [one if one == "compare" else pytest.param(one, marks=pytest.mark.long) for one in PRESETS],
)
def test_axe_finds_nothing_serious_on_the_first_screens_of_each_preset(browser, quick_run, tmp_path, preset):
    """Practice, what was right in it, the talk, and judging."""
    script = axe_script()
    write_starter(preset, tmp_path, None if preset in ("mahueval", "convqa") else quick_run)
    text = (tmp_path / "study.yaml").read_text("utf-8").replace("pass_mark: 0.6", "pass_mark: 0")
    found = {}
    with served_aside(begun(f"{text}\nlimits: {{between_messages_s: 0}}\n", tmp_path)) as study:
        enter(browser, study)
        seen = set()
        for _ in range(16):
            kind = heading(browser) + " and answers" * bool(browser.find_elements(CSS, "#talk .answer"))
            if kind not in seen and (problems := every_look(browser, script)):
                found[kind] = problems
            seen.add(kind)
            if not browser.find_elements(CSS, "main button.main"):
                break
            asked = len(browser.find_elements(CSS, ".transcript > li"))
            fill(browser)
            talks = browser.find_elements(CSS, ".say")
            browser.find_element(CSS, "main button.main").click() if talks else go_on(browser)
            if talks:
                until(browser, lambda d, asked=asked: answered(d, asked) or not d.find_elements(CSS, "#talk"))
        browser.get(study.owner_link)
        if problems := every_look(browser, script):
            found["owner"] = problems
    browser.get_log("browser")
    assert found == {}
    assert {"Before you begin", "What to do"} < seen


def answered(driver, before):
    """Whether a question more than *before* has its answer, and the next can be asked or the talk is over."""
    turns = driver.find_elements(CSS, ".transcript > li:has(.answer)")
    return len(turns) > before and driver.find_elements(CSS, ".say")


def test_axe_finds_nothing_serious_where_something_is_wrong(working):
    script = axe_script()
    press(working, "1", "1")
    working.find_element(CSS, "textarea[name=span]").send_keys("opened in 1921")
    go_on(working)
    assert every_look(working, script) == []
    working.get_log("browser")
