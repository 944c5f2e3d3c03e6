"""What ``run`` and ``resume`` share: the loop, its interruption, and what is shown at the end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import typer
from rich.console import Console

from replay.cli.progress import Progress
from replay.runs import Run, newest_run

Play = Callable[[Progress], Coroutine[None, None, Run]]


def play_and_report(play: Play, runs: Path, *, as_json: bool) -> None:
    """Play with live progress; then show the depth table, or say how to go on after an interruption."""
    try:
        with Progress(Console(stderr=True)) as progress:
            run = asyncio.run(_until_told_to_stop(play(progress)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        typer.echo(
            f"interrupted: what was answered is kept; go on with: replay resume {newest_run(runs)}", err=True
        )
        raise typer.Exit(130) from None
    show(run, as_json=as_json)
    if not as_json:
        typer.echo(f"\nrun: {run.folder}")
    if _nothing_was_answered(run):
        typer.echo("no question was answered; see the failures above", err=True)
        raise typer.Exit(1)


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


def show(run: Run, *, as_json: bool, resamples: int = 1000) -> None:
    """The run's depth table on standard output, as text or JSON."""
    from replay.report.json import report_json
    from replay.report.text import print_report

    report = run.report(resamples=resamples)
    if as_json:
        typer.echo(json.dumps(report_json(report), indent=2, ensure_ascii=False))
    else:
        print_report(report, Console())
