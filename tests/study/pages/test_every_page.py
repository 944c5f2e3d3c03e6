"""Every page of a study that `replay study demo` shows can be opened, whatever its kind."""

from __future__ import annotations

import re
from html import unescape

import pytest

from replay.study.running.start import write_starter
from replay.study.running.study_file import PRESETS
from replay.web.access import RequestRateLimit
from tests.study.robot import go_on
from tests.study.serving import begun, served


async def opened(browser, *starts):
    """The status of every page that links lead to from *starts*, by address; the export is no page."""
    found, waiting = {}, list(starts)
    while waiting:
        address = waiting.pop()
        async with browser.client.get(browser.address + address) as response:
            found[address] = response.status
            html = await response.text() if response.content_type == "text/html" else ""
        links = {unescape(one) for one in re.findall(r'href="(/[^"]*)"', html)}
        waiting += sorted(one for one in links - {*found, *waiting} if "/owner/export" not in one)
    return found


def failed(pages):
    return {address: status for address, status in pages.items() if status != 200}


@pytest.fixture
def database(request, tmp_path):
    talks = request.param in ("mahueval", "convqa", "wording")
    write_starter(request.param, tmp_path, None if talks else request.getfixturevalue("quick_run"))
    text = (tmp_path / "study.yaml").read_text("utf-8").replace("pass_mark: 0.6", "pass_mark: 0")
    return begun(f"{text}\nlimits: {{between_messages_s: 0, too_fast_s: 1000}}\n", tmp_path)


# Between them these two have a talk, a search, passages, and texts beside each other.
@pytest.mark.parametrize(
    "database",
    [one if one in ("mahueval", "compare") else pytest.param(one, marks=pytest.mark.long) for one in PRESETS],
    indirect=True,
)
async def test_every_link_of_owner_and_raters_leads_to_a_page(database):
    async with served(database) as study:
        study.pages.access._work = RequestRateLimit(at_once=10_000, per_s=1_000)
        for rater in (1, 2):
            async with study.browser(study.rater_link(rater)) as browser:
                step = 0
                while await go_on(study, browser):
                    step += 1
                    if step % 5 == 0:
                        assert failed(await opened(browser, "/rate")) == {}
        tasks = [f"/owner/task/{id}" for id in study.store.tasks()]
        async with study.browser(study.owner_link) as owner:
            pages = await opened(owner, "/owner", *tasks)
    assert failed(pages) == {}
    assert "/owner/numbers" in pages
