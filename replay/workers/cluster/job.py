"""What an actor on a node is to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.scenario.reading import ScenarioFile
from replay.workers.job import scenario_as_played


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalId:
    """Where on a node a part is."""

    folder: str | None
    """``cluster.folder``."""
    session: int
    """Which time a cluster played the run, from 1."""
    number: int
    """Which actor of that session it is, from 0."""
    rerun: int
    """Which rerun of the run is asked; 0 for none."""

    @property
    def id(self) -> str:
        """Its name among the run's parts."""
        return f"{self.session}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJob:
    """A share of playing a scenario."""

    text: str
    source: str
    folder: str
    """The scenario."""
    run: str
    """The run's own id."""
    start: float
    """Reading of ``perf_counter`` when the run started: where the process runs, once that is known."""
    started_at: float
    """When that was, in seconds since 1970."""
    worker: int
    """Which of them it is, from 0."""
    workers: int
    part: JournalId | None = None
    """Where it keeps what it plays until this program has it; None where that is at once."""

    @classmethod
    def of(cls, file: ScenarioFile, *, worker: int, workers: int, **when: Any) -> NodeJob:
        """A part of playing *file*; *when* are the other fields."""
        return cls(
            text=file.text,
            source=file.source,
            folder=str(file.folder),
            worker=worker,
            workers=workers,
            **when,
        )

    def scenario(self) -> ScenarioFile:
        """Return the scenario as it is played."""
        return scenario_as_played(self.text, source=self.source, folder=Path(self.folder))
