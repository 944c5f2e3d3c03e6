"""``replay resume``: go on with a run that was interrupted or killed."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli import arguments


def resume(
    run: arguments.RunArgument = None,
    with_new_data: Annotated[
        bool,
        typer.Option(
            "--with-new-data",
            help="Take up conversations that the data has and the run hasn't, up to data.limit.",
        ),
    ] = False,
    runs: arguments.RunsOption = arguments.RUNS,
    as_json: arguments.JsonOption = False,
    junit: arguments.JunitOption = None,
    workers: arguments.WorkersOption = None,
    on: arguments.OnOption = None,
    allow_code: arguments.AllowOption = False,
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

    folder = arguments.run_folder(run, runs)
    arguments.ask_consent(actions_of_untrusted_run(folder), allow_code=allow_code)
    play_and_report(
        lambda progress: resume_async(
            folder,
            observer=progress,
            with_new_data=with_new_data,
            allow_code=True,
            workers=arguments.choose_workers(workers),
            on=on,
        ),
        runs,
        folder=folder,
        as_json=as_json,
        junit=junit,
    )
