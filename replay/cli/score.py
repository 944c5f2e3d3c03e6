"""``replay score``: score a run's records anew, or have them judged."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli import arguments


def score(
    run: arguments.RunArgument = None,
    runs: arguments.RunsOption = arguments.RUNS,
    scorer: Annotated[
        list[str] | None,
        typer.Option(
            "--scorer",
            metavar="NAME",
            help="A scorer in place of the scenario's, as in a scenario: f1, or '{rouge_l: {beta: 1.2}}'. "
            "May be given several times.",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="A judge to ask: the name of one of the scenario's, all for each of them, or a new one "
            "as in a scenario. May be given several times. Scores stay as they are without --scorer.",
        ),
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded",
            help="Hold each answer against the recorded one, as the scenario's section recorded does.",
        ),
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", min=1, max=100, help="Ask each judge so often, and show the spread."),
    ] = None,
    no_cache: arguments.FreshOption = False,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="ray|ADDRESS|here",
            help="Where scorers with a model observe: on the nodes of a Ray cluster (ray: the scenario's "
            "own, or this machine's; or that at an address as in ray://HOST:10001), or here.",
        ),
    ] = None,
    dry_run: arguments.PlanOption = False,
    as_json: arguments.JsonOption = False,
    allow_code: arguments.AllowOption = False,
) -> None:
    """Score a run's records anew, or have judges judge them; no system is asked anything."""
    from replay.core.errors import InputError
    from replay.results.consent import actions_of_untrusted_run
    from replay.results.judging import chosen_judges, run_panels, score as score_run
    from replay.results.run import Run
    from replay.scenario.reading import read_choices
    from replay.scenario.sections import RecordedSection

    folder = arguments.run_folder(run, runs)
    found = Run(folder)
    judges = chosen_judges(found, judge or (["all"] if dry_run else []))
    chosen = read_choices(scorer, "--scorer") if scorer else found.scenario().scenario.scorers
    scorers = chosen if scorer or recorded or not (judges or dry_run) else []
    arguments.ask_consent(
        actions_of_untrusted_run(folder, scorers=scorers, judges=judges), allow_code=allow_code
    )
    if dry_run:
        from replay.cli.judging import show_estimate

        show_estimate(folder, judge or ["all"], repeats=repeats, cache=not no_cache, as_json=as_json)
        return
    if (repeats or no_cache) and not judge:
        raise InputError("--repeats and --no-cache are about judges; name one, or say --judge all")
    if on and judge and not scorer:
        raise InputError("--on is about scorers; judges are asked by this program, so leave it out")
    from replay.cli.playing import show

    panels = []
    if judge:
        panels = run_panels(found, judge, repeats=repeats, cache=not no_cache, allow_code=True)
    if scorer or recorded or not judge:
        section = found.scenario().scenario.recorded or RecordedSection() if recorded else None
        score_run(folder, scorers, allow_code=True, on=on, recorded=section)
    if panels:
        from replay.cli.judging import judge_with_progress

        judge_with_progress(folder, panels)
    show(Run(folder), as_json=as_json)
