"""What of a scenario it takes to play it, in whatever process or on whatever node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.runs.processes.child import Job
from replay.scenario.reading import ScenarioFile, parse_scenario


def to_play(job: Job) -> ScenarioFile:
    """The scenario of *job* without what is done with the answers, which is done where the run is kept."""
    file = parse_scenario(job.text, source=job.source, folder=Path(job.folder))
    scenario = file.scenario
    changes: dict[str, Any] = {"scorers": (), "judges": (), "assertions": ()}
    if scenario.telemetry:
        changes["telemetry"] = scenario.telemetry.model_copy(update={"endpoint": None, "file": None})
    if scenario.load:
        changes["load"] = scenario.load.model_copy(update={"slo": {}})
    return replace(file, scenario=scenario.model_copy(update=changes))
