"""
Would the tests notice? Small faults are put into the code one at a time; tests that pass then let them live.

    python benchmarks/mutants.py                          a sample of every room that makes a number
    python benchmarks/mutants.py --rooms play --sample 0  every mutant of one room
    python benchmarks/mutants.py --keep-map --seed 7      another sample; which test reaches what is kept

The tests run once under coverage, which tells those that reach each line. Each mutant then gets the tests of
its line, the room's own first, then others of its file, until one fails that passes on sound code, or until
they have taken a while. Mutants that change nothing a user could see are listed in
``mutants_alive.txt`` with the reason; they count as alive.

Works in copies of the checkout; needs POSIX (fork) and the extra ``dev``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from small_faults import ROOT, Mutant, mutants_of

if TYPE_CHECKING:
    import pytest

ROOMS = ("play", "coreference", "scorers", "statistics", "store")
TESTS = (
    "core", "coreference", "golden", "laws", "play", "policies", "report", "runs", "scenario", "scorers",
    "statistics", "store",
)  # fmt: skip
ALIVE = ROOT / "benchmarks" / "mutants_alive.txt"
COPIED = ("adapters", "benchmarks", "docs", "pyproject.toml", "README.md", "replay", "scenarios", "tests")

TESTS_S = 20.0
"""How long a mutant's tests may take by what they took in the first pass."""
HANGS_S = 60.0
"""A mutant that takes as much longer than its tests did hangs, which counts as noticed."""
FAILED = "first-failure.txt"

SHARED = (
    "aiohttp", "hdrh", "jinja2", "loky", "msgspec", "numpy", "pandas",
    "pydantic", "rapidfuzz", "rich", "rouge_score", "sacrebleu", "scipy.stats", "typer", "yaml",
)  # fmt: skip
"""Modules of others that every process would load anew."""


class Reached:
    """A pytest plug-in: which lines each test reaches, and how long it takes."""

    def __init__(self, folder: Path, rooms: tuple[str, ...]) -> None:
        import coverage

        self.sources = [str(folder / "replay" / room) for room in rooms]
        self.coverage = coverage.Coverage(data_file=None, source=self.sources, config_file=False)
        self.folder = folder
        self.times: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report) -> None:  # type: ignore[no-untyped-def]
        self.times[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {
            str(Path(path).relative_to(self.folder)): {
                line: [test for test in tests if test and test not in self.failed]
                for line, tests in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        found = {"times": self.times, "lines": lines, "failed": sorted(self.failed)}
        Path(os.environ["MUTANTS_MAP"]).write_text(json.dumps(found))


def pytest_in(folder: Path, arguments: list[str], plugins: list[object]) -> int:
    """Tests of the copy at *folder*, in this process, which ends with them."""
    os.chdir(folder)
    sys.path[:0] = [str(folder), str(folder / "adapters")]
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{folder / 'adapters'}"
    import pytest

    return int(pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", "-q", *arguments], plugins=plugins))


def _first_pass(folder: Path, rooms: tuple[str, ...], tests: list[str]) -> None:
    pytest_in(folder, ["--no-header", "--tb=line", *tests], [Reached(folder, rooms)])


class FirstFailure:
    """A pytest plug-in: only *tests*, in their order; keeps which failed first, or can't be collected."""

    def __init__(self, path: Path, tests: list[str]) -> None:
        self.path = path
        self.places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.places), key=lambda i: self.places[i.nodeid])

    def pytest_runtest_logreport(self, report) -> None:  # type: ignore[no-untyped-def]
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def _try(folder: Path, tests: list[str]) -> None:
    os.setpgrp()  # what a mutant leaves running goes with it
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    files = sorted({test.partition("::")[0] for test in tests})
    os._exit(pytest_in(folder, ["-x", "--tb=no", *files], [FirstFailure(folder / FAILED, tests)]))


def first_failure(folder: Path, tests: list[str], usual_s: float) -> str:
    """Which of *tests* fails first in the copy at *folder*; ``hangs``, ``crash``, or nothing."""
    (folder / FAILED).unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=_try, args=(folder, tests))
    process.start()
    process.join(usual_s * 4 + HANGS_S)
    if process.is_alive():
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        return "hangs"
    if process.exitcode == 0:
        return ""
    return (folder / FAILED).read_text() if (folder / FAILED).exists() else "crash"


def noticed_by(mutant: Mutant, folder: Path, tests: list[str], usual_s: float) -> str:
    """The test that tells *mutant* from sound code, or ``hangs``, ``crash``, or nothing."""
    path = folder / mutant.path
    sound = path.read_bytes()
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        stale.unlink()
    while tests:
        path.write_text(mutant.source, "utf-8")
        try:
            failed = first_failure(folder, tests, usual_s)
        finally:
            path.write_bytes(sound)
        # A test that fails alone on sound code too says nothing.
        if failed == "crash":
            raise SystemExit(f"{mutant}: the tests can't be run in {folder}")
        if failed not in tests or not first_failure(folder, [failed], usual_s):
            return failed
        tests = [test for test in tests if test != failed]
    return ""


def tests_for(mutant: Mutant, reached: dict[str, dict[str, list[str]]], times: dict[str, float]) -> list[str]:
    """
    Those that reach its statement, the room's own first, then others of its file, as many as fit.

    Others, since a line whose result is kept, or that is read at import, is reached by the first test alone.
    """
    room = mutant.path.removeprefix("replay/").partition("/")[0]
    near = (f"tests/{room}/", "tests/golden/")
    lines = reached.get(mutant.path, {})
    statement = range(mutant.first_line, mutant.last_line + 1)
    there = (
        {test for line in statement for test in lines.get(str(line), ())} if "()" in mutant.scope else set()
    )
    found = {test for tests in lines.values() for test in tests}
    chosen, total = [], 0.0
    for test in sorted(found, key=lambda t: (t not in there, not t.startswith(near), times[t], t)):
        total += times[test] + 0.01
        if total > TESTS_S:
            break
        chosen.append(test)
    return chosen


def reasons() -> dict[str, str]:
    """Why mutants are left alive, by key."""
    lines = ALIVE.read_text("utf-8").splitlines() if ALIVE.exists() else []
    parts = [line.rpartition(" | ") for line in lines if line and not line.startswith("#")]
    return {key: reason for key, _, reason in parts}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rooms", nargs="+", default=ROOMS, help=f"folders of replay/ (default: {' '.join(ROOMS)})"
    )
    parser.add_argument(
        "--sample", type=int, default=60, help="mutants of each room; 0 for all (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--only", default="", help="only mutants whose path contains this")
    parser.add_argument(
        "--tests", nargs="+", default=[f"tests/{name}" for name in TESTS], help="tests to run"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="mutants at a time (default: one per core)"
    )
    parser.add_argument(
        "--keep-map", action="store_true", help="take which test reaches what from the last call"
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "convreplay-mutants")
    options = parser.parse_args()
    rooms = tuple(options.rooms)
    map_path = options.work / "reached.json"
    options.work.mkdir(parents=True, exist_ok=True)
    os.environ |= {"MUTANTS_MAP": str(map_path), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    folders = [options.work / f"copy{n}" for n in range(options.jobs)]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in COPIED:
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copied(ROOT / name, folder / name)
    if not (options.keep_map and map_path.exists()):
        began = time.monotonic()
        tests = [test for test in options.tests if (ROOT / test).exists()]
        first = multiprocessing.get_context("fork").Process(
            target=_first_pass, args=(folders[0], rooms, tests)
        )
        first.start()
        first.join()
        print(f"tests ran once in {time.monotonic() - began:.0f} s")
    known = json.loads(map_path.read_text())
    if not known["times"]:
        raise SystemExit("no test ran in the first pass; its output says why")
    print(f"{len(known['times'])} tests, {len(known['failed'])} fail without a mutant: {known['failed'][:5]}")
    for name in SHARED:
        importlib.import_module(name)

    chosen: list[Mutant] = []
    for room in rooms:
        every = [m for m in mutants_of(room) if options.only in m.path]
        chosen += random.Random(options.seed).sample(every, min(options.sample or len(every), len(every)))
    free: SimpleQueue[Path] = SimpleQueue()
    for folder in folders:
        free.put(folder)

    def judge(mutant: Mutant) -> str:
        tests = tests_for(mutant, known["lines"], known["times"])
        folder = free.get()
        try:
            return noticed_by(mutant, folder, tests, sum(known["times"][test] for test in tests))
        finally:
            free.put(folder)

    why = reasons()
    killed: dict[str, list[bool]] = defaultdict(list)
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, test in zip(chosen, pool.map(judge, chosen), strict=True):
            killed[mutant.path.split("/")[1]].append(bool(test))
            reason = test or why.get(mutant.key, "no reason given")
            print(f"{'killed' if test else 'ALIVE '}  {mutant}   [{reason}]", flush=True)
    for room, found in killed.items():
        print(f"{room:12} {sum(found)}/{len(found)} killed, {100 * sum(found) / len(found):.0f} %")
    every_one = [noticed for found in killed.values() for noticed in found]
    print(
        f"{'all':12} {sum(every_one)}/{len(every_one)} killed, {100 * sum(every_one) / len(every_one):.0f} %"
    )


if __name__ == "__main__":
    main()
