"""What is looked for on pages in a browser."""

from __future__ import annotations

from tests.driving import CSS, By, until


def drawn(driver):
    """Wait until every chart that can be seen has been drawn."""
    script = (
        "return [...document.querySelectorAll('figure.chart')].filter(f => f.offsetParent"
        " && f.getBoundingClientRect().top < innerHeight && !f.querySelector('.main-svg')).length"
    )
    until(driver, lambda d: d.execute_script(script) == 0)


def curves(driver, id):
    """The names of a chart's curves."""
    return driver.execute_script(
        "return document.getElementById(arguments[0]).querySelector('.plot').data"
        ".filter(t => t.showlegend !== false).map(t => t.name)",
        id,
    )


def go(driver, title):
    driver.find_element(By.LINK_TEXT, title).click()
    until(driver, lambda d: d.find_element(CSS, "nav [aria-current]").text == title)


def harmless(driver):
    assert driver.execute_script("return window.hacked") is None
    strange = "main img, main iframe, main [onload], main [onerror], main u"
    assert driver.find_elements(CSS, strange) == []
