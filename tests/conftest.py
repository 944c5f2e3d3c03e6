"""What all tests share: real data sets that lie beside a checkout and never in it, and a real browser."""

from __future__ import annotations

import asyncio
import atexit
import gc
import hashlib
import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from replay.core.logs import LOGGER
from replay.core.safety import redaction
from replay.core.safety.consent import code_may_run
from replay.coreference.reading import decisions, embedded, network
from replay.coreference.service.service import CoreferenceService
from replay.play import gc_pause
from replay.play.gc_pause import gc_paused
from replay.scenario.part_builder import PartBuilder
from replay.scenario.sections import DriftSection
from tests.sharing import made_once, shared_folder
from tests.virtual_time import SteadyTime

# A shell starts background jobs with SIGINT ignored, and programs inherit that; those that the tests start
# and interrupt have to be ones that can be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is. The same examples each time, or a change is refused
# for what another one did; new ones are looked for by --long.
settings.register_profile("any-machine", deadline=None, max_examples=20, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=1000, derandomize=False)
settings.register_profile("few", deadline=None, max_examples=5, derandomize=True)

CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")
DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="more examples and longer inputs: make test-long")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes its time, or repeats what another test shows; --long")
    settings.load_profile("long" if config.getoption("--long") else "any-machine")
    asyncio.set_event_loop_policy(SteadyTime())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: tests wait for browsers and other processes a good part of their time."""
    return (os.cpu_count() or 1) + 1


NEURAL = {
    "test_bertscore",
    "test_coverage",
    "test_evaluation_file",
    "test_fastcoref",
    "test_semantic",
    "test_similarity",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """
    Leave long ones for --long.

    Tests that import torch come first and so in one process: it takes 8 s and a gigabyte.
    """
    if not config.getoption("--long"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: item.path.stem not in NEURAL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing of what is collected is garbage, and to look for some takes a good part of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """
    Thousands of tests are no garbage: looking through them took longer than a small run that is played.

    A run finds another one under way that keeps the collector quiet, or each would count what is frozen. It
    stays quiet to the end, where pytest collects what is left.
    """
    quiet = ExitStack()
    quiet.enter_context(gc_paused())
    atexit.register(quiet.close)


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory) -> Path:
    """The folder of a run of the shipped quickstart."""
    from replay.runs.launch import run

    return made_once(tmp_path_factory, "quickstart", lambda runs: run("quickstart", runs=runs).folder)


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory) -> Path:
    """The folder of a run of three conversations of the quickstart, named ``quick``."""
    from replay.runs.launch import run
    from replay.scenario.reading import read_scenario, with_changes
    from replay.scenario.shipped import find_scenario

    def made(runs: Path) -> Path:
        file = with_changes(read_scenario(find_scenario("quickstart")), {"data": {"limit": 3}})
        return run(file, runs=runs).folder.rename(runs / "quick")

    return made_once(tmp_path_factory, "three-conversations", made)


@pytest.fixture
def nothing_frozen(monkeypatch) -> Iterator[None]:
    """As in a process where nobody has frozen objects and no run is under way."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(gc_pause, "_quiet", 0)
    gc.unfreeze()
    yield
    gc.set_threshold(*thresholds)
    gc.freeze()


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether tests may take as long as they like."""
    return request.config.getoption("--long")


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data sets; the test skips where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no real data sets at {DATA}")
    return DATA


@pytest.fixture(scope="session")
def cache_folders(tmp_path_factory) -> Iterator[Path]:
    """One that isn't there yet for each test: to make ten thousand that few use takes a while."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def cache_folder(cache_folders, monkeypatch) -> Path:
    """A cache of this test's own; the user's is out of reach."""
    folder = next(cache_folders)
    monkeypatch.setenv("CONVREPLAY_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory) -> Iterator[None]:
    """Where these tests' runs are remembered as one's own; the user's is out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(shared_folder(tmp_path_factory) / "state"))
        yield


@pytest.fixture
def code_runs() -> Iterator[None]:
    """As where something is played or scored: what a scenario names as code may be imported."""
    with code_may_run():
        yield


@pytest.fixture(autouse=True)
def no_secret_is_known(monkeypatch) -> None:
    """What a test makes known as a secret is none for the next."""
    monkeypatch.setattr(redaction, "_known", redaction.SecretMatcher(()))


READS_ANEW = {"coreference", "laws"}
"""Folders of tests that are about the reader, which in all others reads each document once."""
_read: dict[tuple[object, ...], object] = {}


@pytest.fixture(scope="session")
def readings_folder(tmp_path_factory) -> Path:
    folder = shared_folder(tmp_path_factory) / "readings"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def each_document_is_read_once(request, monkeypatch, readings_folder) -> None:
    """By all of xdist's workers: the network takes a core for 30 ms, and most tests have the same few."""
    monkeypatch.setattr(PartBuilder, "service", _in_this_process(PartBuilder.service))
    if request.path.relative_to(Path(__file__).parent).parts[0] not in READS_ANEW:
        monkeypatch.setattr(embedded, "_read", _remembered(embedded._read, readings_folder))
        monkeypatch.setattr(decisions, "evidence", _remembered(decisions.evidence, readings_folder))


def _in_this_process(
    service: Callable[[PartBuilder, DriftSection], CoreferenceService | None],
) -> Callable[[PartBuilder, DriftSection], CoreferenceService | None]:
    """No worker process, which takes a core for seconds to start, unless a scenario asks for one."""

    def made(builder: PartBuilder, drift: DriftSection) -> CoreferenceService | None:
        if "nlp_workers" not in drift.model_fields_set:
            drift = drift.model_copy(update={"nlp_workers": 0})
        return service(builder, drift)

    return made


def _remembered(function: Callable[..., object], folder: Path) -> Callable[..., object]:
    """*function*, asked once for the same by all of xdist's workers; what it gave lies in *folder*."""

    def once(*asked: object) -> object:
        key = (function, network.current(), *(tuple(one) if isinstance(one, list) else one for one in asked))
        if key not in _read:
            _read[key] = shared(asked) if network.folder_in_use() == network.WEIGHTS else function(*asked)
        return _read[key]

    def shared(asked: tuple[object, ...]) -> object:
        path = (
            folder
            / hashlib.sha256(repr((function.__name__, asked)).encode("utf-8", "surrogatepass")).hexdigest()
        )
        try:
            return pickle.loads(path.read_bytes())
        except FileNotFoundError:
            found = function(*asked)
            written = path.with_suffix(f".{os.getpid()}")
            written.write_bytes(pickle.dumps(found))
            written.replace(path)
            return found

    return once


LOGGING = LOGGER.handlers[:], LOGGER.level, LOGGER.propagate
"""As it is for a program that imports us."""


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """The logger is the whole process's, and the command line sets it up, for many tests' fixture as well."""
    log_as_before()
    yield
    log_as_before()


def log_as_before() -> None:
    handlers, level, propagate = LOGGING
    for handler in LOGGER.handlers:
        stream = getattr(handler, "stream", None)
        if handler not in handlers and getattr(stream, "mode", None) == "a":  # a log file
            stream.close()
    LOGGER.handlers[:], LOGGER.propagate = handlers, propagate
    LOGGER.setLevel(level)


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
