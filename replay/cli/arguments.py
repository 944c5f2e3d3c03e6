"""Arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A scenario file, or the name of a shipped scenario.")
]
RunArgument = Annotated[
    Path | None, typer.Argument(metavar="[RUN]", help="A run's folder; left out, the newest in --runs.")
]
RunsOption = Annotated[Path, typer.Option("--runs", metavar="FOLDER", help="The folder that holds the runs.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]

JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write there as JUnit XML what became of the assertions."),
]


class IntervalKind(StrEnum):
    """How an interval is made from resampled values."""

    PERCENTILE = "percentile"
    BCA = "bca"


IntervalOption = Annotated[
    IntervalKind,
    typer.Option("--interval", help="bca: corrected for bias and skew; has no value in some small tables."),
]

RUNS = Path("runs")


def run_folder(run: Path | None, runs: Path) -> Path:
    """
    The run that was named, or the newest one.

    Raises:
        RunError: none was named and there is none.
    """
    from replay.runs.run import newest_run

    return newest_run(runs) if run is None else run
