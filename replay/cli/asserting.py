"""What ``run``, ``resume`` and ``report`` share: assertions that were kept or not, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from replay.cli.output import echo, open_console
from replay.core.errors import InputError
from replay.core.terminal import escape_unprintable

if TYPE_CHECKING:
    from replay.results.run import Run
    from replay.scenario.assertions.findings import AssertionResult
    from replay.statistics.recorded import WorseLimit

FAILED = 100
"""Exit code where an assertion failed: the run itself is fine, what it measured is not."""
UNDECIDED = 101
"""Exit code where a gate could not have failed: the data are too few for any difference to count."""


def show_assertions(run: Run, results: Sequence[AssertionResult], *, junit: Path | None, aside: bool) -> bool:
    """
    Print which of *run*'s assertions hold and which fail, and write *junit*; returns whether all hold.

    *aside* prints to standard error, where standard output belongs to machines.

    Raises:
        InputError: *junit* can't be written.
    """
    from replay.report.findings import assertion_lines
    from replay.report.junit import write_junit
    from replay.report.printing import print_lines

    if results:
        console = open_console(stderr=aside)
        console.print()
        for line in assertion_lines(results):
            style = "bold red" if line.lstrip().startswith("FAIL") else ""
            print_lines(console, [Text(escape_unprintable(line), style=style)])
    if junit:
        checks, recorded = run.checks(), run.recorded_turns()
        write_junit(junit, run.scenario().scenario.name, results, run.failures(), checks, recorded)
        if not results and not checks and not recorded:
            echo(f"the scenario asserts nothing and its data checks nothing, so {junit} is empty", err=True)
    return all(one.holds for one in results)


def read_fail_on(fail_on: str | None) -> WorseLimit | None:
    """
    Return what *fail_on* allows; None where nothing is asked.

    Raises:
        InputError: it is nothing to fail on.
    """
    from replay.statistics.recorded import read_worse_limit

    try:
        return None if fail_on is None else read_worse_limit(fail_on)
    except ValueError as error:
        raise InputError(f"--fail-on: {error}") from error


def show_worse(run: Run, limit: WorseLimit | None, *, aside: bool) -> bool:
    """
    Print how many turns of *run* are worse than recorded; returns whether *limit* is kept.

    *aside* as for ``show_assertions``.

    Raises:
        InputError: the run was not compared with the recorded answers.
        typer.Exit: no turn has a recorded answer (101).
    """
    from replay.report.script_tables import worse_lines
    from replay.statistics.recorded import count_recorded

    if limit is None:
        return True
    recorded = count_recorded(run.recorded_turns())
    if recorded is None and not run.compares_recorded():
        raise InputError(
            f"{run.folder} was not held against the recorded answers; `replay score {run.folder} --recorded` "
            "does that"
        )
    if recorded is None:
        echo("no turn has a recorded answer and one of now, so nothing was compared", err=True)
        raise typer.Exit(UNDECIDED)
    echo("", *worse_lines(recorded, limit), err=aside)
    return all(limit.holds(row) for row in recorded.totals)


def exit_code(held: bool) -> None:
    """
    Exit with status 100 unless all assertions *held*.

    Raises:
        typer.Exit: an assertion failed.
    """
    if not held:
        raise typer.Exit(FAILED)
