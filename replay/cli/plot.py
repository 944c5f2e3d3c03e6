"""``replay plot``: a static picture of one or more runs, for a paper."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.arguments import RUNS, IntervalKind, IntervalOption, RunsOption, run_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replay.report.plots.plotted import PlottedRun


class What(StrEnum):
    """Pictures."""

    DEPTH = "depth"
    GAP = "gap"
    LATENCY = "latency"
    AGREEMENT = "agreement"


class PaperWidth(StrEnum):
    """How wide."""

    COLUMN = "column"
    PAGE = "page"


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
    runs: RunsOption = RUNS,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", metavar="NAME", help="A score; several make several panels. f1 if left out."
        ),
    ] = None,
    system: Annotated[
        list[str] | None, typer.Option("--system", metavar="NAME", help="Only this system.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="NAME", help="Only this policy.")
    ] = None,
    width: Annotated[
        PaperWidth, typer.Option("--width", help="column: 3.3 inches. page: 7 inches.")
    ] = PaperWidth.COLUMN,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, help="Bootstrap samples for the intervals; 0 for none.")
    ] = 1000,
    interval: IntervalOption = IntervalKind.PERCENTILE,
) -> None:
    """
    Draw a picture for a paper: readable at column width, in colours that colour-blind people tell apart.

    --metric, --system and --policy may be given several times.
    """
    from replay.report.plots.drawing import check_can_draw, format_of, save, style
    from replay.report.plots.plotted import choose
    from replay.runs.run import Run
    from replay.statistics.run_comparison import ScoredRun

    check_can_draw()
    format_of(out)
    found = []
    chosen = folders or [run_folder(None, runs)]
    for folder in chosen:
        run = Run(folder)
        records, scores = run.scored()
        scored = ScoredRun(name=folder.name, records=records, scores=scores, signatures=run.signatures())
        found.append((scored, run.report(resamples=resamples, method=interval.value)))
    seed = Run(chosen[0]).scenario().scenario.seed
    with style():
        figure = _figure(
            what, choose(found, system or (), policy or ()), metric or [], width.value, (resamples, seed)
        )
    for said in save(figure, out):
        typer.echo(said, err=True)
    typer.echo(f"wrote {out}")


def _figure(
    what: What, runs: list[PlottedRun], metrics: list[str], width: str, sampling: tuple[int, int]
) -> Figure:
    from typing import cast

    from replay.core.errors import InputError
    from replay.report.plots.agreement import agreement_figure
    from replay.report.plots.by_depth import depth_figure, gap_figure
    from replay.report.plots.drawing import Width
    from replay.report.plots.latency import latency_figure

    wide = cast(Width, width)
    if what is What.LATENCY:
        if metrics:
            raise InputError("--metric is about scores; latency and time to first token are always drawn")
        return latency_figure(runs, wide)
    if what is What.AGREEMENT:
        resamples, seed = sampling
        return agreement_figure(runs, metrics, wide, resamples=resamples, seed=seed)
    return (depth_figure if what is What.DEPTH else gap_figure)(runs, metrics, wide)
