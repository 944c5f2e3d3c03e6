"""A rater's clicks and keys in a real browser."""

from __future__ import annotations

from contextlib import contextmanager

from tests.driving import CSS, dark, screen, serious, until


def loaded(driver):
    """Wait for the next page, which replaces the document that *driver* shows now."""
    driver.execute_script("window.here = true")
    return lambda: until(
        driver, lambda d: d.execute_script("return !window.here && document.readyState === 'complete'")
    )


def press(driver, *keys):
    """Type where the focus is."""
    for key in keys:
        driver.switch_to.active_element.send_keys(key)


def next_page(driver, *keys):
    wait = loaded(driver)
    press(driver, *keys)
    wait()


def go_on(driver):
    wait = loaded(driver)
    driver.find_element(CSS, "main button.main").click()
    wait()


def end_talk(driver):
    """Go on to the judging once the last question is answered."""
    until(driver, lambda d: d.find_element(CSS, "#next button").text == "Go on")
    go_on(driver)


def heading(driver):
    return driver.find_element(CSS, "main h2").text


def select(driver, selector, words):
    """Select *words* in what *selector* finds, from text to text, through whatever markup is between."""
    driver.execute_script(
        """const within = document.querySelector(arguments[0]), range = new Range();
        const at = within.textContent.indexOf(arguments[1]), end = at + arguments[1].length;
        let read = 0;
        const texts = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const node = texts.currentNode, next = read + node.length;
          if (read <= at && at < next) range.setStart(node, at - read);
          if (read < end && end <= next) range.setEnd(node, end - read);
          read = next;
        }
        getSelection().removeAllRanges(); getSelection().addRange(range);""",
        selector,
        words,
    )


@contextmanager
def without_scripts(driver):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@contextmanager
def offline(driver):
    """Nothing reaches the server within the block."""
    conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", {**conditions, "offline": True})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Network.emulateNetworkConditions", {**conditions, "offline": False})
        driver.execute_cdp_cmd("Network.disable", {})


def enter(driver, study, rater=1):
    """*rater* opens their link, in a browser that knows nobody."""
    driver.delete_all_cookies()
    driver.get(study.rater_link(rater))
    return driver


def every_look(driver, script):
    """What axe finds on the page in light, in dark, and on a phone; and whether it is too wide for that."""
    driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
    problems = serious(driver, None)
    with dark(driver):
        problems += serious(driver, ["color-contrast", "link-in-text-block"])
    with screen(driver, 360):  # and here what depends on the width
        problems += serious(driver, ["scrollable-region-focusable", "target-size", "color-contrast"])
        wide = driver.execute_script("return document.documentElement.scrollWidth")
    return problems + ([f"{wide} pixels wide"] if wide > 360 else [])
