"""``replay plot``: a static picture of one or more runs, for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from replay.cli import arguments
from replay.cli.output import echo

What = Literal["depth", "gap", "latency", "agreement"]


def plot(
    what: Annotated[
        What,
        typer.Option(
            "--what",
            help="depth: scores by depth. gap: differences to gold. latency: medians and 95th percentiles. "
            "agreement: a run's scores, judges' among them, against each other.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .pdf, .svg or .png file.")],
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="Runs' folders; left out, the newest in --runs."),
    ] = None,
    runs: arguments.RunsOption = arguments.RUNS,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", metavar="NAME", help="A score; several make several panels. f1 if left out."
        ),
    ] = None,
    system: arguments.SystemOption = None,
    policy: arguments.PolicyOption = None,
    width: arguments.WidthOption = "column",
    resamples: arguments.ResamplesOption = 1000,
    interval: arguments.IntervalOption = "t",
) -> None:
    """
    Draw a picture for a paper: readable at column width, in colours that colour-blind people tell apart.

    --metric, --system and --policy may be given several times.
    """
    from replay.core.errors import InputError
    from replay.report.drawing import check_can_draw, choose, format_of, save, style
    from replay.report.figures import agreement_figure, depth_figure, gap_figure, latency_figure
    from replay.results.run import Run

    check_can_draw()
    format_of(out)
    chosen = [Run(folder) for folder in folders or [arguments.run_folder(None, runs)]]
    found = [
        (run.scored_run(run.folder.name), run.report(resamples=resamples, method=interval)) for run in chosen
    ]
    with style():
        shown = choose(found, system or (), policy or ())
        if what == "agreement":
            seed = chosen[0].scenario().scenario.seed
            figure = agreement_figure(shown, metric or [], width, resamples=resamples, seed=seed)
        elif what == "latency":
            if metric:
                raise InputError("--metric is about scores; latency and time to first token are always drawn")
            figure = latency_figure(shown, width)
        else:
            figure = (depth_figure if what == "depth" else gap_figure)(shown, metric or [], width)
    for said in save(figure, out):
        echo(said, err=True)
    echo(f"wrote {out}")
