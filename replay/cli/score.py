"""``replay score``: score a run's records anew."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli.arguments import RUNS, JsonOption, RunArgument, RunsOption, run_folder


def score(
    run: RunArgument = None,
    runs: RunsOption = RUNS,
    scorer: Annotated[
        list[str] | None,
        typer.Option(
            "--scorer",
            metavar="NAME",
            help="A scorer in place of the scenario's, as in a scenario: f1, or '{rouge_l: {beta: 1.2}}'. "
            "May be given several times.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score a run's records anew, without asking any system anything."""
    from replay.cli.playing import show
    from replay.runs import score as score_run
    from replay.scenario import read_choices

    folder = run_folder(run, runs)
    show(score_run(folder, read_choices(scorer, "--scorer") if scorer else None), as_json=as_json)
