"""``replay run``: play a scenario and show its depth table."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli.arguments import RUNS, FullOption, JsonOption, JunitOption, RunsOption, ScenarioArgument


def run(
    scenario: ScenarioArgument,
    runs: RunsOption = RUNS,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Conversations at most, whatever the scenario says.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip, count and report conversations that can't be read.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats", min=1, max=1000, help="Runs to play, whatever the scenario says; shows their spread."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how much would be asked, and ask nothing."),
    ] = False,
    as_json: JsonOption = False,
    junit: JunitOption = None,
    full: FullOption = False,
) -> None:
    """
    Play a scenario and show its depth table. Ctrl-C keeps what was answered; `resume` goes on.

    Ends with 100 if something that the scenario asserts does not hold.
    """
    from replay.cli.playing import play_and_report, repeat_and_report
    from replay.runs.launch import load_scenario, run_async
    from replay.scenario.reading import with_section

    file = load_scenario(scenario)
    changes = {"limit": limit} if limit else {}
    changes |= {"skip_bad": True} if skip_bad else {}
    if changes:
        file = with_section(file, "data", changes)
    if dry_run:
        from replay.cli.planning import show_plan

        show_plan(file, as_json=as_json)
        return
    times = repeats or file.scenario.repeats
    if times > 1:
        repeat_and_report(
            lambda progress: run_async(file, runs=runs, observer=progress),
            times,
            runs,
            as_json=as_json,
            junit=junit,
        )
        return
    play_and_report(
        lambda progress: run_async(file, runs=runs, observer=progress),
        runs,
        as_json=as_json,
        junit=junit,
        full=full,
    )
