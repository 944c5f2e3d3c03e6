"""What ``run`` and ``resume`` share: the loop, its interruption, and what is shown at the end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from replay.cli.progress import Progress
from replay.runs import Run, newest_run

if TYPE_CHECKING:
    from replay.statistics.interval import IntervalMethod

Play = Callable[[Progress], Coroutine[None, None, Run]]


def play_and_report(play: Play, runs: Path, *, as_json: bool) -> None:
    """Play with live progress; then show the depth table, or say how to go on after an interruption."""
    run = _played(play, runs)
    show(run, as_json=as_json)
    if not as_json:
        typer.echo(f"\nrun: {run.folder}")
    if _nothing_was_answered(run):
        typer.echo("no question was answered; see the failures above", err=True)
        raise typer.Exit(1)


def repeat_and_report(play: Play, times: int, runs: Path, *, as_json: bool) -> None:
    """Play *times* runs one after another; then show how far they lie apart."""
    from replay.cli.compare import show_spread

    folders = []
    for number in range(1, times + 1):
        typer.echo(f"run {number} of {times}", err=True)
        folders.append(_played(play, runs).folder)
    show_spread(folders, by_depth=False, as_json=as_json)
    if all(_nothing_was_answered(Run(folder)) for folder in folders):
        typer.echo("no question was answered; `replay report` shows the failures", err=True)
        raise typer.Exit(1)


def _played(play: Play, runs: Path) -> Run:
    """One run, with live progress; an interruption says how to go on."""
    try:
        with Progress(Console(stderr=True)) as progress:
            return asyncio.run(_until_told_to_stop(play(progress)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        typer.echo(
            f"interrupted: what was answered is kept; go on with: replay resume {newest_run(runs)}", err=True
        )
        raise typer.Exit(130) from None


async def _until_told_to_stop(playing: Coroutine[None, None, Run]) -> Run:
    """SIGTERM ends a run as cleanly as Ctrl-C does."""
    task = asyncio.current_task()
    assert task is not None
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await playing


def _nothing_was_answered(run: Run) -> bool:
    records = run.records()
    return bool(records) and all(record.failed for record in records)


def show(run: Run, *, as_json: bool, resamples: int = 1000, method: IntervalMethod = "percentile") -> None:
    """The run's depth table on standard output, as text or JSON."""
    from replay.report.json import report_json
    from replay.report.text import print_report

    report = run.report(resamples=resamples, method=method)
    if as_json:
        typer.echo(json.dumps(report_json(report), indent=2, ensure_ascii=False))
    else:
        print_report(report, Console())
