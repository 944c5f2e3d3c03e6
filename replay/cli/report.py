"""``replay report``: the depth table of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli.arguments import (
    RUNS,
    IntervalKind,
    IntervalOption,
    JsonOption,
    RunArgument,
    RunsOption,
    run_folder,
)


def report(
    run: RunArgument = None,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, help="Bootstrap samples for the intervals; 0 for none.")
    ] = 1000,
    interval: IntervalOption = IntervalKind.PERCENTILE,
) -> None:
    """Show a run's depth table: scores with intervals, drift, edits and failures by turn depth."""
    from replay.cli.playing import show
    from replay.runs import Run

    show(Run(run_folder(run, runs)), as_json=as_json, resamples=resamples, method=interval.value)
