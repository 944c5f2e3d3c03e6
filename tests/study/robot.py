"""Somebody who works through any study without reading it."""

from __future__ import annotations

import re
from html import unescape

from tests.study.serving import Browser, Served
from tests.study.talks import answered

QUESTION = "When was that?"


def first_choices(html: str) -> dict[str, str]:
    """The first option of each field on the page, and words in each text that has to be written."""
    given = {}
    for name, value in re.findall(r'<input type="radio" name="(.*?)" value="(.*?)"', html):
        given.setdefault(name, unescape(value))
    for name, more in re.findall(r'<textarea name="(.*?)"([^>]*)>', html):
        if " required" in more:
            given[name] = QUESTION
    return given


async def go_on(study: Served, browser: Browser) -> bool:
    """Do what the page asks for; returns False where it asks for nothing."""
    html = browser.html
    if 'action="/rate/answer"' in html:
        await browser.send("/rate/answer", first_choices(html))
    elif 'action="/rate/talk/ask"' in html and 'action="/rate/talk/end"' not in html:
        opening = re.search(r'<textarea id="question"[^>]*>([^<]*)<', html)
        await browser.send("/rate/talk/ask", {"question": (opening and opening[1].strip()) or QUESTION})
        await answered(study, browser)
    else:
        actions = re.findall(r'action="(/rate/(?:consent|begin|practice|talk/end|talk/noted))"', html)
        if not actions:
            return False
        await browser.send(actions[0])
    assert browser.status == 200, browser.html
    return True
