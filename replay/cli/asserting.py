"""What ``run``, ``resume`` and ``report`` share: assertions that were kept or not, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from replay.cli.output import echo, open_console
from replay.core.terminal import visible

if TYPE_CHECKING:
    from replay.core.check_result import CheckResult
    from replay.scenario.assertions.findings import AssertionResult
    from replay.statistics.failure_reasons import FailureReason

FAILED = 100
"""Exit code where an assertion failed: the run itself is fine, what it measured is not."""


def show_assertions(
    suites: Mapping[str, Sequence[AssertionResult]],
    *,
    junit: Path | None,
    aside: bool,
    failures: Mapping[str, Sequence[FailureReason]],
    checks: Mapping[str, Sequence[CheckResult]],
) -> bool:
    """
    Print which assertions hold and which fail, and write *junit*; returns whether all hold.

    *suites* are results by what a suite is called; *failures*, by the same name, say why turns failed and go
    into *junit*, as do *checks*. *aside* prints to standard error, where standard output belongs to machines.

    Raises:
        InputError: *junit* can't be written.
    """
    from replay.report.assertions_text import assertion_lines
    from replay.report.junit import write_junit
    from replay.report.printing import heading, put_lines

    console = open_console(stderr=aside)
    for name, results in suites.items():
        if not results:
            continue
        console.print()
        if len(suites) > 1:
            heading(console, name)
        for line in assertion_lines(results):
            style = "bold red" if line.lstrip().startswith("FAIL") else ""
            put_lines(console, [Text(visible(line), style=style)])
    if junit:
        write_junit(junit, suites, failures, checks)
        if not any(suites.values()) and not any(checks.values()):
            echo(f"the scenario asserts nothing and its data checks nothing, so {junit} is empty", err=True)
    return all(one.holds for results in suites.values() for one in results)


def end_with(held: bool) -> None:
    """
    Raises:
        typer.Exit: an assertion failed.
    """
    if not held:
        raise typer.Exit(FAILED)
