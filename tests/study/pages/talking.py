"""A rater's browser in a talk, and what comes of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

from tests.study.serving import Browser, Served, begun, served
from tests.study.talks import study_file

SCRIPTED = {"adapter": "scripted", "settings": {"answers": ["In the kitchen.", "Since 1999.", "Yes."]}}


def scripted(*faults, **settings):
    return {**SCRIPTED, "settings": {**SCRIPTED["settings"], **settings, "faults": list(faults)}}


@asynccontextmanager
async def in_talk(
    folder: Path, *systems: Mapping[str, Any], **more: Any
) -> AsyncIterator[tuple[Served, Browser]]:
    """The first rater in a talk, in a study of *systems* whose file has *more*."""
    database = begun(study_file(*systems, **more), folder)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        yield study, browser


async def begin(browser):
    await browser.send("/rate/begin")
    assert browser.heading == "Conversation"


def turns(study, assignment=1):
    return [(one.question, one.answer) for one in study.store.talks(assignment).get(assignment, [])]


def said(browser):
    """What the page shows of the talk."""
    return [
        unescape(text)
        for text in re.findall(r'<(?:p|div) class="(?:question|answer)"[^>]*>(.*?)</(?:p|div)>', browser.html)
    ]
