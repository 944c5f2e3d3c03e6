"""What ``run``, ``resume`` and ``report`` share: assertions that were kept or not, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from replay.scenario.assertions.findings import Judgement

FAILED = 100
"""Exit code where an assertion failed: the run itself is fine, what it measured is not."""


def show_judgements(suites: Mapping[str, Sequence[Judgement]], *, junit: Path | None, aside: bool) -> bool:
    """
    Print which assertions hold and which fail, and write *junit*; returns whether all hold.

    *suites* are judgements by what a suite is called. *aside* prints to standard error, where standard
    output belongs to machines.

    Raises:
        InputError: *junit* can't be written.
    """
    from replay.report.assertions_text import judgement_lines
    from replay.report.junit import write_junit

    console = Console(stderr=aside)
    for name, judgements in suites.items():
        if not judgements:
            continue
        console.print()
        if len(suites) > 1:
            console.print(Text(name, style="bold"))
        for line in judgement_lines(judgements):
            style = "bold red" if line.lstrip().startswith("FAIL") else ""
            console.print(Text(line, style=style), soft_wrap=True)
    if junit:
        write_junit(junit, suites)
        if not any(suites.values()):
            sys.stderr.write(f"the scenario asserts nothing, so {junit} holds no test case\n")
    return all(one.holds for judgements in suites.values() for one in judgements)


def end_with(held: bool) -> None:
    """
    Raises:
        typer.Exit: an assertion failed.
    """
    if not held:
        raise typer.Exit(FAILED)
