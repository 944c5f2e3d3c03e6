"""
Driving a real browser: waiting, looking, other screens, and axe-core.

`CONVREPLAY_AXE` names axe-core's script for the accessibility checks: `npm install axe-core`, then
`node_modules/axe-core/axe.min.js`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.common.exceptions import (
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.common.by import By as By
from selenium.webdriver.common.keys import Keys as Keys
from selenium.webdriver.support.ui import Select as Select, WebDriverWait

CSS = By.CSS_SELECTOR

INK, DARK_INK = "p.layout.font.color", "#a4a9b1"


def until(driver, condition):
    ignored = [NoSuchElementException, StaleElementReferenceException]  # pages are exchanged as they go on

    def holds(driver):
        try:
            return condition(driver)
        except WebDriverException as error:
            # How the driver puts it where the page is exchanged while it looks.
            if "does not belong to the document" not in (error.msg or ""):
                raise
            return False

    return WebDriverWait(driver, PATIENCE_S, poll_frequency=0.02, ignored_exceptions=ignored).until(holds)


def shown(driver, selector):
    """All that can be seen, by one question; the driver would ask of each element by itself."""
    script = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter(e => e.checkVisibility({visibilityProperty: true}))"
    )
    return driver.execute_script(script, selector)


def axe_script():
    path = os.environ.get("CONVREPLAY_AXE")
    if not path or not Path(path).is_file():
        pytest.skip(
            "CONVREPLAY_AXE names no axe.min.js; `npm install axe-core` has it in node_modules/axe-core"
        )
    return Path(path).read_text("utf-8")


ASK_AXE = """
const [asked, done] = arguments
const away = [...document.querySelectorAll("main > section[hidden]")].map(one => {
  const place = document.createComment("")
  one.replaceWith(place)
  return [one, place]
})
const back = () => { for (const [one, place] of away) place.replaceWith(one) }
axe.run(asked).finally(back).then(done, error => done({error: String(error)}))
"""
"""Views of a file that aren't shown are out of the page meanwhile: axe judges none, and goes through all."""


def serious(driver, rules):
    """What axe objects to; by all of its rules, where *rules* names none."""
    # What it would load beforehand is for sound and for rotated screens, and took a fifth of its time.
    asked = {"resultTypes": ["violations"], "preload": False, **({"runOnly": rules} if rules else {})}
    found = driver.execute_async_script(ASK_AXE, asked)
    assert "error" not in found, found["error"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


FEW_ROWS = r"""
const markup = row => row.outerHTML
  .replace(/>\s*[^<\s][^<]*/g, ">.")
  .replace(/ (?!class|style|role|aria-)([\w-]+)="[^"]+"/g, " $1")
for (const rows of document.querySelectorAll("tbody, ul, ol")) {
  const seen = {}
  for (const row of [...rows.children]) {
    const kind = markup(row)
    seen[kind] = (seen[kind] ?? 0) + 1
    if (seen[kind] > 2) row.remove()
  }
}
"""
"""Whether there is a text or a value counts; which, only for what is seen and for what is read out."""


def few_rows(driver):
    """Take rows off the page that are like two others of their table or list: axe finds in them the same."""
    driver.execute_script(FEW_ROWS)


@contextmanager
def screen(driver, width):
    """A screen of another width; a phone's where it is narrow."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def dark(driver):
    """As for somebody whose system is dark: the page and its charts change while it is open."""
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        inks = (
            f"[...document.querySelectorAll('figure .plot')].every(p => !p.layout || {INK} === '{DARK_INK}')"
        )
        until(driver, lambda d: d.execute_script(f"return {inks}"))
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
