"""What ``replay score`` does with judges: asking them with live progress, or saying what that would take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from replay.cli.arguments import echo_json
from replay.cli.progress import Progress
from replay.core.asking.estimate import Estimate
from replay.runs.judging import estimate_run, judge_run, run_panels
from replay.runs.run import Run
from replay.scorers.judges.panel import Panel


def judge_with_progress(folder: Path, panels: Sequence[Panel]) -> None:
    """Judge the run in *folder*; an interruption keeps the verdicts and says how to go on."""
    try:
        with Progress(Console(stderr=True)) as progress:
            asyncio.run(judge_run(folder, panels, told=progress.judged))
    except (KeyboardInterrupt, asyncio.CancelledError):
        typer.echo(
            "interrupted: the verdicts so far are kept; judge again to go on, what the verdict cache holds "
            "is not asked twice",
            err=True,
        )
        raise typer.Exit(130) from None


def show_estimate(
    folder: Path, names: Sequence[str], *, repeats: int | None, cache: bool, as_json: bool
) -> None:
    """Print how many asks the judges *names* would send about the run in *folder*, and what they cost."""
    panels = run_panels(Run(folder), names, repeats=repeats, cache=cache)
    estimates = estimate_run(folder, panels)
    if as_json:
        echo_json(msgspec.to_builtins(estimates))
    elif estimates:
        print_estimates("judge", estimates)
    else:
        typer.echo("the run's scenario has no judges; name one with --judge")


def print_estimates(who: str, estimates: Sequence[Estimate]) -> None:
    """A table of *estimates*, whose first column is headed *who*."""
    table = Table(who, "cases", "asks", "cached", "prompt tokens", "completion", "dollars", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in estimates:
        table.add_row(one.name, *_cells(one))
    console = Console()
    console.print(table)
    console.print(
        "Nothing was asked. Retries after failures come on top. Tokens are guessed from the prompts.",
        highlight=False,
    )


def _cells(one: Estimate) -> tuple[str, ...]:
    asks = f"{one.asks:,}" if one.asks == one.asks_at_most else f"{one.asks:,} to {one.asks_at_most:,}"
    cost = "no prices" if one.cost_usd is None else f"~{one.cost_usd:.4f}"
    tokens = (f"~{one.prompt_tokens:,}", f"~{one.completion_tokens:,}")
    return f"{one.cases:,}", asks, f"{one.cached:,}", *tokens, cost
