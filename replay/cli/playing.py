"""
What ``run`` and ``resume`` share: the loop, its interruption, and what is shown at the end; with ``report``
also assertions that were kept or not, and the exit code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.text import Text

from replay.cli.output import echo, echo_json, open_console
from replay.cli.signals import INTERRUPTED, cancel_on_signal
from replay.core.errors import InputError
from replay.core.terminal import escape_unprintable
from replay.play.event_loop import run_on_loop
from replay.report import MOST_CHARS
from replay.results.run import Run, newest_run
from replay.runs.progress import RunProgress

if TYPE_CHECKING:
    from replay.results.run import Run
    from replay.scenario.assertions.findings import AssertionResult
    from replay.statistics.interval import IntervalMethod
    from replay.statistics.recorded import WorseLimit
    from replay.statistics.run_numbers import FailureReason


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


MOST_TABLED_TURNS = 200_000
"""Of a load run with a depth table, which needs every turn in memory at once."""

Play = Callable[[RunProgress], Coroutine[None, None, Run]]


def play_and_report(
    play: Play,
    runs: Path,
    *,
    as_json: bool,
    junit: Path | None = None,
    folder: Path | None = None,
    full: bool = False,
    worse: WorseLimit | None = None,
) -> None:
    """
    Play with live progress; then show the depth table, or say how to go on after an interruption.

    *folder* is that of the run, unless it is a new one; *full* as for ``show``; *worse* is how many
    answers may be worse than recorded.

    Raises:
        typer.Exit: the run was interrupted (130), nothing was answered (1) or an assertion failed (100).
    """
    played = _play_with_progress(play, runs, folder)
    show_whole(played, as_json=as_json, junit=junit, full=full, worse=worse)


def show_whole(
    run: Run,
    *,
    as_json: bool,
    junit: Path | None = None,
    full: bool = False,
    worse: WorseLimit | None = None,
) -> None:
    """
    Show the depth table, what became of the assertions, and where the run is; *full* as for ``show``,
    *worse* as for ``play_and_report``.

    Raises:
        typer.Exit: nothing was answered (1) or an assertion failed (100).
    """
    from replay.results.comparing import check_assertions

    with run.opened_once() as opened:
        results = check_assertions(opened)
        show(opened, as_json=as_json, results=results, full=full)
        if not as_json:
            echo("", f"run: {run.folder}")
        held = show_assertions(opened, results, junit=junit, aside=as_json)
        held = show_worse(opened, worse, aside=as_json) and held
        if _nothing_was_answered(opened):
            _tell_that_nothing_was_answered(run.failures() if as_json else ())
    exit_code(held)


def _play_with_progress(play: Play, runs: Path, folder: Path | None = None) -> Run:
    """Return one run, with live progress; an interruption says how to go on."""
    try:
        with RunProgress(open_console(stderr=True)) as progress:
            return run_on_loop(cancel_on_signal(play(progress)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        run = Run(folder or newest_run(runs))
        goes_on = "look at it with: replay report" if run.is_load() else "go on with: replay resume"
        echo(f"interrupted: what was answered is kept; {goes_on} {run.folder}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _nothing_was_answered(run: Run) -> bool:
    outcomes = run.outcomes()
    return bool(outcomes) and not outcomes.keys() & {"answered", "skipped"}


def _tell_that_nothing_was_answered(failures: Sequence[FailureReason]) -> NoReturn:
    """With *failures*, those that were not shown yet."""
    from replay.report.findings import failure_lines

    echo(f"no question was answered{':' if failures else '; see Failures above'}", err=True)
    for line in failure_lines(failures):
        echo(f"- {line}", err=True)
    raise typer.Exit(1)


def show(
    run: Run,
    *,
    as_json: bool,
    markdown: bool = False,
    latex: bool = False,
    max_chars: int = MOST_CHARS,
    resamples: int = 1000,
    method: IntervalMethod = "t",
    results: Sequence[AssertionResult] = (),
    full: bool = False,
) -> None:
    """
    Print the run's numbers as text, JSON, Markdown or LaTeX; JSON and Markdown with the *results*.

    Of a load run, text is one screen. With *full* it is every table, and then the depth table of all turns,
    which is left out where a run has too many (the load report has numbers by depth as well).
    """
    from replay.report.export import report_json
    from replay.report.text import print_load, print_report

    load = run.load_summary(resamples=resamples) if run.is_load() and not markdown and not latex else None
    report = None
    if load is None or ((as_json or full) and sum(run.outcomes().values()) < MOST_TABLED_TURNS):
        report = run.report(resamples=resamples, method=method)
    if as_json:
        more: dict[str, Any] = {"assertions": [one.to_json() for one in results]} if results else {}
        more |= {} if report else {"failures": [failure.to_json() for failure in run.failures()]}
        echo_json({**report_json(report, load), **more})
        return
    if load is not None:
        print_load(load, open_console(), failures=run.failures(), full=full)
        if not full:
            echo("", f"all tables: replay report {run.folder} --full")
        if report is not None:
            echo("", "All turns kept one by one, warm-up included", "")
            report = replace(report, failures=())  # shown already
    if report is None:
        return
    if latex:
        from replay.report.latex import latex_report

        echo(*latex_report(report, title=run.scenario().scenario.name).split("\n"))
    elif markdown:
        from replay.report.markdown import markdown_report

        title = run.scenario().scenario.name
        shown = markdown_report(report, title=title, results=results, most_chars=max_chars)
        echo(*shown.split("\n"))
    else:
        print_report(report, open_console())
