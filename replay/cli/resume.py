"""``replay resume``: go on with a run that was interrupted or killed."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli.arguments import (
    RUNS,
    AllowOption,
    JsonOption,
    JunitOption,
    OnOption,
    RunArgument,
    RunsOption,
    WorkersOption,
    ask_consent,
    choose_workers,
    run_folder,
)


def resume(
    run: RunArgument = None,
    with_new_data: Annotated[
        bool,
        typer.Option(
            "--with-new-data",
            help="Take up conversations that the data has and the run hasn't, up to data.limit.",
        ),
    ] = False,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
    junit: JunitOption = None,
    workers: WorkersOption = None,
    on: OnOption = None,
    allow_code: AllowOption = False,
) -> None:
    """
    Go on with a run that was interrupted or killed; no finished turn is asked again.

    Its conversations are played as it read them when it began; what is new, changed or gone in the data since
    then is said.

    Ends with 100 if something that the scenario asserts does not hold.
    """
    from replay.cli.playing import play_and_report
    from replay.results.consent import actions_of_untrusted_run
    from replay.runs.launch import resume_async

    folder = run_folder(run, runs)
    ask_consent(actions_of_untrusted_run(folder), allow_code=allow_code)
    play_and_report(
        lambda progress: resume_async(
            folder,
            observer=progress,
            with_new_data=with_new_data,
            allow_code=True,
            workers=choose_workers(workers),
            on=on,
        ),
        runs,
        folder=folder,
        as_json=as_json,
        junit=junit,
    )
