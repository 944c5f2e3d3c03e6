"""What ``run``, ``resume`` and ``report`` share: assertions that were kept or not, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from replay.cli.output import echo, open_console
from replay.core.terminal import escape_unprintable

if TYPE_CHECKING:
    from replay.results.run import Run
    from replay.scenario.assertions.findings import AssertionResult

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
        checks = run.checks()
        write_junit(junit, run.scenario().scenario.name, results, run.failures(), checks)
        if not results and not checks:
            echo(f"the scenario asserts nothing and its data checks nothing, so {junit} is empty", err=True)
    return all(one.holds for one in results)


def exit_code(held: bool) -> None:
    """
    Exit with status 100 unless all assertions *held*.

    Raises:
        typer.Exit: an assertion failed.
    """
    if not held:
        raise typer.Exit(FAILED)
