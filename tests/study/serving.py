"""Studies served over a real socket, and a rater's browser without a browser: links, cookies and forms."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from html import unescape
from pathlib import Path

from aiohttp import ClientResponse, ClientSession, CookieJar, web

from replay.core.safety.consent import code_may_run
from replay.study.pages.server import StudyPages
from replay.study.preset import Results
from replay.study.running.flow import Flow
from replay.study.running.live import LiveTalks, built_systems
from replay.study.running.start import begin_study, open_study
from replay.study.running.study_file import parse_study
from tests.adapters.servers import in_a_thread


def begun(text: str, folder: Path, database: str = "study.db") -> Path:
    """The database of a study that begins with the file *text* in *folder*."""
    begin_study(parse_study(text, source="study.yaml", folder=folder), folder / database)
    return folder / database


@asynccontextmanager
async def served(database: Path, **options) -> AsyncIterator[Served]:
    """The study in *database*, on a free port of this machine; *options* are those of its pages."""
    file, store = open_study(database, write=True)
    with code_may_run():
        live = LiveTalks(file, store, built_systems(file))
    pages = StudyPages(Flow(file, store), live, **options)
    runner = web.AppRunner(pages.app(), access_log=None)
    try:
        with code_may_run():
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield Served(pages, store, live, f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()
        store.close()


def shown_text(html: str) -> str:
    """What *html* shows, tables by row; without the tokens of links, which may hold any word by chance."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>|token=[\w-]+", " ", html)))


class Served:
    """A study that is served."""

    def __init__(self, pages, store, live, address):
        self.pages = pages
        self.store = store
        self.live = live
        self.address = address

    def rater_link(self, rater: int) -> str:
        return f"{self.address}/rate?token={self.pages.access.rater_token(rater)}"

    @property
    def owner_link(self) -> str:
        return f"{self.address}/owner?token={self.pages.access.owner_token}"

    @asynccontextmanager
    async def browser(self, link: str) -> AsyncIterator[Browser]:
        """Somebody who has opened *link*."""
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
            browser = Browser(client, self.address)
            await browser.open(link)
            yield browser

    @asynccontextmanager
    async def at_work(self, rater: int) -> AsyncIterator[Browser]:
        """*rater*, who has read the instructions."""
        async with self.browser(self.rater_link(rater)) as browser:
            if browser.heading == "What to do":
                await browser.send("/rate/begin")
            yield browser

    @property
    def results(self) -> Results:
        """What people have said by now."""
        return self.pages._flow.file.preset.results(self.store.state())


class Browser:
    """What a person's browser does: it keeps cookies, shows a page, and sends the forms in it."""

    def __init__(self, client: ClientSession, address: str) -> None:
        self.client = client
        self.address = address
        self.html = ""
        self.status = 0
        self.received: list[str] = []
        """All that came: addresses, headers and pages, those of redirects as well."""

    async def open(self, link: str) -> None:
        async with self.client.get(link if "://" in link else self.address + link) as response:
            await self._receive(response)

    async def _receive(self, response: ClientResponse) -> None:
        self.html, self.status = await response.text(), response.status
        for one in (*response.history, response):
            self.received.append(f"{one.url} {one.raw_headers}")
        self.received.append(self.html)

    @property
    def heading(self) -> str:
        return unescape(re.findall(r"<h2>(.*?)</h2>", self.html, re.DOTALL)[0])

    @property
    def text(self) -> str:
        return shown_text(self.html)

    def form(self, action: str) -> dict[str, str]:
        """The hidden fields of the page's form that goes to the address that ends in *action*."""
        (form,) = re.findall(rf'<form[^>]*action="[^"]*{action}"(.*?)</form>', self.html, re.DOTALL)
        return {
            name: unescape(value)
            for name, value in re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)"', form)
        }

    async def send(self, action: str, fields: Mapping[str, str] | None = None) -> None:
        """Fill in *fields* of the form that goes to *action*, send it, and look at what comes."""
        await self.post(action, {**self.form(action), **(fields or {})})

    async def post(self, action: str, form: Mapping[str, str]) -> None:
        async with self.client.post(self.address + action, data=form) as response:
            await self._receive(response)


def served_aside(database: Path) -> AbstractContextManager[Served]:
    """The same for browsers that are driven from here: the server has a thread of its own."""
    return in_a_thread(served(database))
