"""Runs, and a viewer as users start it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, DummyCookieJar
from aiohttp.web import AppRunner, TCPSite

from replay.results.run import Run
from replay.scorers.word_overlap import f1
from replay.viewer.live_run import RunIndex
from replay.viewer.pages import write_report
from replay.viewer.viewer import Viewer
from tests.report.sample_checks import checked_run
from tests.report.test_load_text import sweep
from tests.statistics.load_runs import summary_of
from tests.viewer.runs import failing_run, hostile_run, people_run
from tests.waiting import PATIENCE_S, takes


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("hostile") / "evil")


@contextmanager
def viewing(*arguments: str, cwd: Path, asks: bool = False) -> Iterator[str]:
    """`replay view` in a process of its own; gives its address. If it *asks* for a token, with that in it."""
    command = [sys.executable, "-m", "replay", "view", *arguments, "--port", "0"]
    if not asks:
        command.append("--no-token")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield next(word for word in line.split() if word.startswith("http"))
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


@pytest.fixture(scope="session")
def served_runs(quickstart, hostile, tmp_path_factory) -> Path:
    """The folder whose runs *viewer* shows, which tests put theirs into under names of their own."""
    runs = tmp_path_factory.mktemp("view") / "runs"
    runs.mkdir()
    for folder in (quickstart, hostile):
        (runs / folder.name).symlink_to(folder)
    return runs


@pytest.fixture(scope="session")
def viewer(served_runs) -> Iterator[str]:
    """The address of a viewer that is started once, and whose computing process stays warm."""
    with viewing("--runs", served_runs.name, cwd=served_runs.parent) as address:
        yield address


@asynccontextmanager
async def viewing_here(*folders: Path, below: Path) -> AsyncIterator[str]:
    """The address of a viewer in this process, of *folders* or all runs *below*."""
    runner = AppRunner(Viewer(RunIndex(folders, below), None).app())
    await runner.setup()
    try:
        await TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def get(http: ClientSession, url: str, **more: Any) -> tuple[ClientResponse, str]:
    async with http.get(url, **more) as answer:
        return answer, await answer.text()


async def computed(http: ClientSession, url: str, pattern: str = "^(?!.*data-pending)") -> str:
    """The page, once its numbers are there: *pattern* is found in it."""
    async with asyncio.timeout(PATIENCE_S):
        while not re.search(pattern, text := (await get(http, url))[1], re.DOTALL):
            await takes(0.02)
    return text


@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    async with ClientSession(cookie_jar=DummyCookieJar()) as session:
        yield session


@pytest.fixture(scope="session")
def files(quickstart, hostile, tmp_path_factory):
    """Static files of both runs."""
    folder = tmp_path_factory.mktemp("files")
    load = summary_of(sweep(folder / "load"), {"f1": f1()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "load_summary", lambda run: load)
        write_report(quickstart, folder / "quick.html", resamples=100)
    write_report(hostile, folder / "evil.html", resamples=10)
    write_report(failing_run(folder / "failing"), folder / "failing.html", resamples=10)
    write_report(people_run(folder / "people"), folder / "people.html", resamples=10)
    write_report(checked_run(folder / "checked"), folder / "checked.html", resamples=10)
    return folder


@pytest.fixture
def quick(browser, files):
    # Another page first: from one place of a page to another of it, nothing is loaded anew.
    browser.get("about:blank")
    browser.get(f"file://{files / 'quick.html'}")
    return browser
