"""``replay run``: play a scenario and show its depth table; with ``--dry-run``, how much would be asked."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import arguments
from replay.cli.output import echo, echo_json
from replay.core.safety.consent import code_may_run

if TYPE_CHECKING:
    from replay.scenario.reading import ScenarioFile


def run(
    scenario: arguments.ScenarioArgument,
    runs: arguments.RunsOption = arguments.RUNS,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Conversations at most, whatever the scenario says.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip, count and report conversations that can't be read.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", min=1, max=100, help="Plays of each conversation: play.repeats."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Keep answers there, and ask nothing again that was asked before: play.cache.",
        ),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask every question, whatever the scenario's play.cache says.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="NAME", help="In place of the scenario's policies; several times for several."
        ),
    ] = None,
    otlp: arguments.OtlpOption = None,
    workers: arguments.WorkersOption = None,
    on: arguments.OnOption = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how much would be asked, and ask nothing."),
    ] = False,
    as_json: arguments.JsonOption = False,
    junit: arguments.JunitOption = None,
    fail_on: arguments.FailOnOption = None,
    full: arguments.FullOption = False,
) -> None:
    """
    Play a scenario and show its depth table. Ctrl-C keeps what was answered; `resume` goes on.

    Ends with 100 if something that the scenario asserts does not hold.
    """
    from replay.cli.playing import play_and_report, read_fail_on
    from replay.core.errors import InputError
    from replay.runs.launch import load_scenario, run_async
    from replay.scenario.reading import with_changes, with_cluster, with_workers
    from replay.scenario.sections import SAME_FROM

    worse = read_fail_on(fail_on)
    if cache is not None and no_cache:
        raise InputError("--cache and --no-cache don't go together; leave one of them out")
    file = with_cluster(with_workers(load_scenario(scenario), arguments.choose_workers(workers)), on)
    data: dict[str, Any] = {"limit": limit} if limit else {}
    data |= {"skip_bad": True} if skip_bad else {}
    play: dict[str, Any] = {} if repeats is None else {"repeats": repeats}
    if cache is not None or no_cache:
        play["cache"] = None if cache is None else str(cache.absolute())
    telemetry = {} if otlp is None else {"endpoint": otlp}
    changes: dict[str, Any] = {"data": data, "play": play, "telemetry": telemetry, "policies": policy}
    if worse and file.scenario.recorded is None:
        changes["recorded"] = {"same_from": SAME_FROM}
    if changes := {section: keys for section, keys in changes.items() if keys}:
        file = with_changes(file, changes)
    if dry_run:
        show_plan(file, as_json=as_json)
        return
    play_and_report(
        lambda progress: run_async(file, runs=runs, observer=progress),
        runs,
        as_json=as_json,
        junit=junit,
        full=full,
        worse=worse,
    )


@code_may_run()
def show_plan(file: ScenarioFile, *, as_json: bool) -> None:
    """
    Print how many questions the scenario in *file* would put, and what its resolver would take.

    Raises:
        InputError: it is a load run, or something in it or its data can't be used.
    """
    import msgspec

    from replay.core.errors import InputError
    from replay.report.numbers import count_text
    from replay.results.estimates import estimate_resolver, estimate_users, planned_turns
    from replay.scenario.assembly import assemble

    assembly = assemble(file)
    if assembly.load:
        raise InputError("what a load run asks depends on how fast it is answered; --dry-run can't tell")
    (turns, plays), policies = planned_turns(assembly), len(assembly.policies)
    resolver = estimate_resolver(assembly)
    users = estimate_users(assembly, turns, plays)
    if as_json:
        echo_json(
            {
                "turns": turns,
                "asks_of_each_system": turns * policies,
                "resolver": msgspec.to_builtins(resolver),
                **({"users": [asdict(one) for one in users]} if users else {}),
            }
        )
        return
    counted = f"{count_text(turns, 'turn')}, policies: {policies}"
    echo(f"each system: {count_text(turns * policies, 'question')} at most ({counted})")
    if resolver is not None:
        from replay.cli.judging import print_estimates

        print_estimates("who", [resolver])
    for one in users:
        echo(one.sentence)
    if assembly.judges:
        echo("Judges are asked after the run; `replay score RUN --dry-run` says what they would take.")
