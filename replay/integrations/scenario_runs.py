"""
Runs behind pytest's tests: each scenario is played once, and what speaks against it is told in plain text.

For several processes: whoever comes first plays, the others wait and read. A SQLite file is the lock as well:
the system lets go of it when its holder dies, on every platform, and what the dead one had begun counts for
nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from replay.core.drift_evidence import Drift
from replay.core.errors import ReplayError
from replay.core.expectation import CheckResult
from replay.core.terminal import escape_unprintable
from replay.report.findings import check_title, turn_texts, why_invalid
from replay.report.printing import shorten
from replay.results.run import Run
from replay.runs.launch import run
from replay.scenario.assertions.findings import AssertionResult
from replay.scenario.reading import ScenarioFile

MOST = 5
"""Turns of each system and policy that are shown."""
WIDTH = 300
LONGEST_PLAY_S = 24 * 60 * 60.0
"""For how long one process waits for another that plays."""


class NotPlayedError(ReplayError):
    """A scenario could not be played, here or in the process that tried; the message says why."""


class PlayedOnce:
    """The runs of one test session, in whichever of its processes they are asked for."""

    def __init__(self, memory: Path, runs: Path, play: Callable[..., Run] = run) -> None:
        """*memory* is the session's own file, which its processes share; runs go below *runs*."""
        self._memory = memory
        self._runs = runs
        self._play = play
        self._own: dict[str, Run] = {}

    def run(self, file: ScenarioFile) -> Run:
        """
        Return the run of *file*, played now if nobody has.

        Raises:
            NotPlayedError: it can't be played. It is not tried again.
        """
        key = hashlib.sha256(f"{file.folder}\n{file.text}".encode("utf-8", "surrogatepass")).hexdigest()
        if key not in self._own:
            self._own[key] = self._shared_run(key, file)
        return self._own[key]

    def _shared_run(self, key: str, file: ScenarioFile) -> Run:
        with closing(sqlite3.connect(self._memory, timeout=LONGEST_PLAY_S, isolation_level=None)) as memory:
            memory.execute("BEGIN EXCLUSIVE")
            memory.execute("CREATE TABLE IF NOT EXISTS played (key PRIMARY KEY, folder, problem)")
            found = memory.execute("SELECT folder, problem FROM played WHERE key = ?", [key]).fetchone()
            if found is None:
                found = self._try_play(file)
                memory.execute("INSERT INTO played VALUES (?, ?, ?)", [key, *found])
                memory.execute("COMMIT")
        folder, problem = found
        if problem is not None:
            raise NotPlayedError(problem)
        return Run(folder)

    def _try_play(self, file: ScenarioFile) -> tuple[str | None, str | None]:
        try:
            return str(self._play(file, runs=self._runs).folder), None
        except ReplayError as error:
            return None, str(error)


def turns_against(run: Run, result: AssertionResult) -> Iterator[str]:
    """Yield the first turns that speak against each finding of *result* that fails."""
    against = {
        (conversation, finding.group.system, finding.group.policy, depth)
        for finding in result.findings
        for conversation, depth in (() if finding.holds else finding.against[:MOST])
    }
    checks: dict[tuple[str, str, str, int], list[CheckResult]] = {}
    for check in run.checks() if against else ():
        if check.passed is False and result.assertion.score in check.columns:
            key = check.conversation, check.system, check.policy, check.depth
            checks.setdefault(key, []).append(check)
    for record in run.records() if against else ():
        key = record.conversation, record.system, record.policy, record.depth
        if key not in against:
            continue
        conversation = escape_unprintable(record.conversation)
        yield f"  depth {record.depth} of {conversation} ({record.system}, {record.policy})"
        found = "; ".join(f"{check.rule}: {check.evidence}" for check in checks.get(key, ()))
        yield from _texts({"asked": record.asked, "answer": record.answer, "found": found}, record.drift)


def check_lines(check: CheckResult) -> Iterator[str]:
    """Yield a failed check with its turn."""
    yield escape_unprintable(f"FAIL  {check_title(check, names_group=True)}")
    yield from _texts(turn_texts(check), check.drift)


def _texts(texts: dict[str, str | None], drift: Drift | None) -> Iterator[str]:
    for name, text in {**texts, "drift": why_invalid(drift) if drift else None}.items():
        if text:
            yield escape_unprintable(f"      {name:6}  {shorten(text, WIDTH)}")
