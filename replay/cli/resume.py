"""``replay resume``: go on with a run that was interrupted or killed."""

from __future__ import annotations

from replay.cli.arguments import RUNS, JsonOption, JunitOption, RunArgument, RunsOption, run_folder


def resume(
    run: RunArgument = None,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
    junit: JunitOption = None,
) -> None:
    """
    Go on with a run that was interrupted or killed; no finished turn is asked again.

    Ends with 100 if something that the scenario asserts does not hold.
    """
    from replay.cli.playing import play_and_report
    from replay.runs.launch import resume_async

    folder = run_folder(run, runs)
    play_and_report(
        lambda progress: resume_async(folder, observer=progress),
        runs,
        folder=folder,
        as_json=as_json,
        junit=junit,
    )
