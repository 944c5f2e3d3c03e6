"""What several verbs do with judges: asking them with live progress, or saying what that would take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer
from rich.table import Table

from replay.cli.output import echo, echo_json, open_console
from replay.cli.signals import INTERRUPTED, cancel_on_signal
from replay.core.asking.costs import CostEstimate
from replay.core.errors import Fault, InputError, ScenarioError
from replay.results.judging import estimate_run, judge_run, run_panels
from replay.results.run import Run
from replay.runs.progress import RunProgress
from replay.scorers.judges.panel import Panel

if TYPE_CHECKING:
    from replay.scorers.judges.judge import Case
    from replay.tables.responses import PanelVerdicts


def judge_with_progress(folder: Path, panels: Sequence[Panel]) -> None:
    """Judge the run in *folder*; an interruption keeps the verdicts and says how to go on."""
    try:
        with RunProgress(open_console(stderr=True)) as progress:
            asyncio.run(cancel_on_signal(judge_run(folder, panels, told=progress.judged)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        echo(
            "interrupted: the verdicts so far are kept; judge again to go on, what the verdict cache holds "
            "is not asked twice",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def written_panels(
    texts: Sequence[str], *, prices: Path | None, repeats: int | None = None, cache: bool = True
) -> list[Panel]:
    """
    Return the panels that *texts* describe, each as in a scenario or the name of a YAML file with such an
    entry.

    Paths in them start from the working directory; *prices* is a price table's file.

    Raises:
        ScenarioError: one can't be read or has faults, or two have one name.
    """
    from replay.core.asking.costs import NO_PRICES, read_price_table
    from replay.results.judging import built_panels
    from replay.scenario.part_builder import PartBuilder
    from replay.scenario.reading import read_choices

    written = [_read(Path(text)) if text.endswith((".yaml", ".yml")) else text for text in texts]
    builder = PartBuilder(Path.cwd(), read_price_table(prices) if prices else NO_PRICES)
    panels = built_panels(builder, read_choices(written, "--judge"), repeats=repeats, cache=cache)
    names = [panel.name for panel in panels]
    for name in names:
        if names.count(name) > 1:
            message = f'two judges are called "{name}"; give one a name: of its own'
            raise ScenarioError("--judge", [Fault(path="name", message=message)])
    return panels


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"--judge {path} can't be read: {reason}") from error


def ask_judges(panels: Sequence[Panel], cases: Mapping[str, Sequence[Case]]) -> list[PanelVerdicts]:
    """
    Ask each of *panels* about its *cases*, by the panel's name, with live progress; return their verdicts.

    Raises:
        typer.Exit: it was interrupted.
    """
    from replay.tables.responses import judge_cases

    async def ask(told: Callable[[str, int, int], None]) -> list[PanelVerdicts]:
        return [await judge_cases(panel, cases[panel.name], told) for panel in panels]

    try:
        with RunProgress(open_console(stderr=True)) as progress:
            return asyncio.run(cancel_on_signal(ask(progress.judged)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        echo(
            "interrupted, and no file was written; what was replied is in the verdict cache and is not "
            "asked twice by the same command",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def show_estimates(estimates: Sequence[CostEstimate], *, as_json: bool) -> None:
    """Print what judging would take."""
    if as_json:
        echo_json(msgspec.to_builtins(estimates))
    else:
        print_estimates("judge", estimates)


def show_estimate(
    folder: Path, names: Sequence[str], *, repeats: int | None, cache: bool, as_json: bool
) -> None:
    """Print how many asks the judges *names* would send about the run in *folder*, and what they cost."""
    # Whoever is allowed to judge was asked before.
    panels = run_panels(Run(folder), names, repeats=repeats, cache=cache, allow_code=True)
    estimates = estimate_run(folder, panels)
    if as_json or estimates:
        show_estimates(estimates, as_json=as_json)
    else:
        echo("the run's scenario has no judges; name one with --judge")


def print_estimates(who: str, estimates: Sequence[CostEstimate]) -> None:
    """Print a table of *estimates*, whose first column is headed *who*."""
    table = Table(who, "cases", "asks", "cached", "prompt tokens", "completion", "dollars", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in estimates:
        table.add_row(one.name, *_cells(one))
    console = open_console()
    console.print(table)
    console.print(
        "Nothing was asked. Retries after failures come on top. Tokens are guessed from the prompts.",
        highlight=False,
    )


def _cells(one: CostEstimate) -> tuple[str, ...]:
    asks = f"{one.asks:,}" if one.asks == one.asks_at_most else f"{one.asks:,} to {one.asks_at_most:,}"
    cost = "no prices" if one.cost_usd is None else f"~{one.cost_usd:.4f}"
    tokens = (f"~{one.prompt_tokens:,}", f"~{one.completion_tokens:,}")
    return f"{one.cases:,}", asks, f"{one.cached:,}", *tokens, cost
