"""
Scenarios played once for several processes: whoever comes first plays, the others wait and read.

For test runners, whose workers all need the same run. A SQLite file is the lock as well: the system lets go
of it when its holder dies, on every platform, and what the dead one had begun counts for nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from replay.core.errors import ReplayError
from replay.results.run import Run
from replay.runs.launch import run
from replay.scenario.reading import ScenarioFile

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
            self._own[key] = self._shared(key, file)
        return self._own[key]

    def _shared(self, key: str, file: ScenarioFile) -> Run:
        with closing(sqlite3.connect(self._memory, timeout=LONGEST_PLAY_S, isolation_level=None)) as memory:
            memory.execute("BEGIN EXCLUSIVE")
            memory.execute("CREATE TABLE IF NOT EXISTS played (key PRIMARY KEY, folder, problem)")
            found = memory.execute("SELECT folder, problem FROM played WHERE key = ?", [key]).fetchone()
            if found is None:
                found = self._played(file)
                memory.execute("INSERT INTO played VALUES (?, ?, ?)", [key, *found])
                memory.execute("COMMIT")
        folder, problem = found
        if problem is not None:
            raise NotPlayedError(problem)
        return Run(folder)

    def _played(self, file: ScenarioFile) -> tuple[str | None, str | None]:
        try:
            return str(self._play(file, runs=self._runs).folder), None
        except ReplayError as error:
            return None, str(error)
