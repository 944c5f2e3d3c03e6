"""Runs, a viewer as users start it, and a real browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replay.runs.launch import run
from tests.report.pages.runs import hostile_run
from tests.waiting import PATIENCE_S

CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory) -> Path:
    """The folder of a run of the shipped quickstart scenario."""
    return run("quickstart", runs=tmp_path_factory.mktemp("runs")).folder


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
def viewer(quickstart, hostile, tmp_path_factory) -> Iterator[str]:
    """The address of a viewer that shows both runs."""
    with viewing(str(quickstart), str(hostile), cwd=tmp_path_factory.mktemp("view")) as address:
        yield address


@pytest.fixture(scope="session")
def new_browser(tmp_path_factory) -> Callable[..., object]:
    """Starts headless Chromium; the test skips where it or its driver is missing."""
    for path in (CHROMIUM, DRIVER):
        if not path.is_file():
            pytest.skip(f"no {path}; on Debian: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    @contextmanager
    def start(*, width: int = 1280, height: int = 1000):
        folder = tmp_path_factory.mktemp("chromium")
        downloads = folder / "downloads"
        downloads.mkdir()
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},{height}",
        ):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        # The driver is named, so that selenium looks for none on the net.
        driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        try:
            driver.downloads = downloads
            yield driver
        finally:
            driver.quit()

    return start


@pytest.fixture(scope="session")
def shared_browser(new_browser):
    with new_browser() as driver:
        yield driver


@pytest.fixture
def browser(shared_browser):
    """A browser whose console must hold no error when the test is over."""
    shared_browser.get_log("browser")
    yield shared_browser
    said = [entry for entry in shared_browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert said == []
