"""``replay report``: the depth table of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli import arguments
from replay.cli.output import echo
from replay.report import MOST_CHARS


def report(
    run: arguments.RunArgument = None,
    runs: arguments.RunsOption = arguments.RUNS,
    as_json: arguments.JsonOption = False,
    resamples: arguments.ResamplesOption = 1000,
    interval: arguments.IntervalOption = "t",
    markdown: arguments.MarkdownOption = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print tables for a paper, for LaTeX with booktabs.")
    ] = False,
    max_chars: arguments.MaxCharsOption = MOST_CHARS,
    junit: arguments.JunitOption = None,
    fail_on: arguments.FailOnOption = None,
    full: arguments.FullOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page for a browser.")
    ] = None,
) -> None:
    """
    Show a run's depth table: scores with intervals, drift, edits and failures by turn depth.

    Ends with 100 if something that the scenario asserts does not hold.
    """
    from replay.cli.playing import exit_code, read_fail_on, show, show_assertions, show_worse
    from replay.core.errors import InputError
    from replay.results.comparing import check_assertions
    from replay.results.run import Run

    chosen = {"--json": as_json, "--markdown": markdown, "--latex": latex}
    if sum(chosen.values()) > 1:
        named = " and ".join(name for name, given in chosen.items() if given)
        raise InputError(f"{named}: say which one to print")
    worse = read_fail_on(fail_on)
    shown = Run(arguments.run_folder(run, runs))
    results = check_assertions(shown)
    show(
        shown,
        as_json=as_json,
        markdown=markdown,
        latex=latex,
        max_chars=max_chars,
        resamples=resamples,
        method=interval,
        results=results,
        full=full,
    )
    if html is not None:
        from replay.viewer.pages import write_report

        echo(f"{html}: {write_report(shown.folder, html, resamples=resamples).summary()}", err=True)
    aside = any(chosen.values())
    held = show_assertions(shown, results, junit=junit, aside=aside)
    exit_code(show_worse(shown, worse, aside=aside) and held)
