"""``replay rerun``: ask chosen turns of a finished run again."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli import arguments
from replay.cli.output import echo


def rerun(
    run: arguments.RunArgument = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="CONDITION",
            help="Which turns: failed, depth>=3 (also 3, <=3, 2-5), conversation=ID, outcome=timed-out, "
            "policy=NAME, system=NAME. Given several times, all have to hold; commas between values "
            "are an or, as in outcome=timed-out,refused.",
        ),
    ] = None,
    runs: arguments.RunsOption = arguments.RUNS,
    as_json: arguments.JsonOption = False,
    junit: arguments.JunitOption = None,
    workers: arguments.WorkersOption = None,
    on: arguments.OnOption = None,
    allow_code: arguments.AllowOption = False,
) -> None:
    """
    Ask chosen turns of a finished run again, into the same run; what they were before is kept.

    An answer is the history of the turns after it. So under policies that show the system its own answers
    (pred, rewrite, replace, filter), all later turns of a chosen one's conversation are asked again as
    well; where the system itself keeps the history, the whole conversation is. Under gold, and under
    augment where the history is sent along, it is the chosen turn alone.

    Scores and verdicts are made anew at the end. After an interruption, go on with `replay resume`.
    """
    from replay.cli.playing import play_and_report, show_whole
    from replay.results.consent import actions_of_untrusted_run
    from replay.results.run import Run
    from replay.runs.rerun import count_chosen, rerun_async

    conditions = only or []
    folder = arguments.run_folder(run, runs)
    count = count_chosen(folder, conditions)
    if count == 0:
        echo(f"no turn of {folder} is like that; nothing was asked again", err=True)
        show_whole(Run(folder), as_json=as_json, junit=junit)
        return
    echo(f"{count:,} turn{'' if count == 1 else 's'} chosen, to be asked again", err=True)
    arguments.ask_consent(actions_of_untrusted_run(folder), allow_code=allow_code)
    play_and_report(
        lambda progress: rerun_async(
            folder,
            conditions,
            observer=progress,
            allow_code=True,
            workers=arguments.choose_workers(workers),
            on=on,
        ),
        runs,
        folder=folder,
        as_json=as_json,
        junit=junit,
    )
