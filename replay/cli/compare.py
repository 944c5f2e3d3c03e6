"""``replay compare``: two runs, or two policies or systems of one run, on the same turns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from replay.cli import arguments
from replay.cli.output import echo, echo_json, open_console
from replay.core.errors import InputError
from replay.report import MOST_CHARS


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="One or two runs' folders; with --baseline one or none."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FOLDER",
            help="The run to compare with, or a folder that holds it alone; if it isn't there yet, that is "
            "said and all is well. The other run is RUN, or the newest in --runs.",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="NAME",
            help="A score (also errors, invalid, latency_p95_s, ...) whose significant loss ends with 100; "
            "may be given several times; any: all scores, and errors; checks: each of the data's checks that "
            "newly fails, or passed and is no longer looked at.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="With --fail-on: a p Holm up to this is significant.")
    ] = 0.05,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="A score; may be given several times. If left out, those of --fail-on, or all.",
        ),
    ] = None,
    by: Annotated[
        Literal["depth"] | None,
        typer.Option("--by", help="Also a row for each turn depth, corrected apart."),
    ] = None,
    system: arguments.SystemOption = None,
    policy: arguments.PolicyOption = None,
    systems: Annotated[
        str | None, typer.Option("--systems", metavar="A,B", help="Compare system A with system B.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option("--policies", metavar="A,B", help="Compare policy A with policy B.")
    ] = None,
    spread: Annotated[
        bool, typer.Option("--spread", help="How far two or more runs of one scenario lie apart, instead.")
    ] = False,
    flips: Annotated[int, typer.Option("--flips", min=0, help="Flipped turns to list, at most.")] = 0,
    flip_at: Annotated[
        float, typer.Option("--flip-at", min=0.0, max=1.0, help="A turn at or above this score is right.")
    ] = 0.5,
    resamples: arguments.ResamplesOption = 1000,
    permutations: Annotated[
        int, typer.Option("--permutations", min=1, help="Swaps drawn where there are too many to try all.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For resamples and swaps.")] = 0,
    interval: arguments.IntervalOption = "t",
    among: arguments.RunsOption = arguments.RUNS,
    as_json: arguments.JsonOption = False,
    markdown: arguments.MarkdownOption = False,
    max_chars: arguments.MaxCharsOption = MOST_CHARS,
) -> None:
    """
    Show by how much the second run differs from the first on the same turns, and whether by chance.

    With one run, --policies or --systems name what to compare within it. Ends with 100 if a score of
    --fail-on is significantly worse in the second run, or a check newly fails; with 101 if the conversations
    are too few for any difference in such a score to be significant.
    """

    from replay.cli.playing import UNDECIDED, exit_code
    from replay.report.findings import gate_lines
    from replay.report.markdown import comparison_markdown
    from replay.report.text import print_comparison
    from replay.results.comparing import baseline_run, compare as compare_runs
    from replay.results.run import Run
    from replay.statistics.group import two_names

    given = runs or []
    if markdown and (as_json or spread):
        raise InputError(f"--markdown and --{'json' if as_json else 'spread'}: say which one to print")
    _check_usage(given, systems, policies, baseline, spread=spread, gated=bool(fail_on))
    if spread:
        show_spread(given, by_depth=by is not None, as_json=as_json)
        return
    if baseline is not None:
        (second_folder,) = given or [arguments.run_folder(None, among)]
        kept = baseline_run(baseline)
        if kept is None:
            _tell_that_there_is_no_baseline(baseline, Run(second_folder).folder, as_json=as_json)
            return
        given = [kept, second_folder]
        if kept.resolve() == second_folder.resolve():
            raise InputError(f'"{kept}" is the baseline and the run to compare with it; name another RUN')
    found = compare_runs(
        *given,
        metrics=metric or (),
        by_depth=by is not None,
        system=system or (),
        policy=policy or (),
        systems=two_names(systems, "--systems") if systems else None,
        policies=two_names(policies, "--policies") if policies else None,
        fail_on=fail_on or (),
        alpha=alpha,
        flip_at=flip_at,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        interval=interval,
    )
    lines = gate_lines(found.gate) if found.gate else []
    if as_json:
        echo_json(found.to_json())
    elif markdown:
        echo(*comparison_markdown(found.report, gate=lines, most_chars=max_chars).split("\n"))
    else:
        print_comparison(found.report, open_console(), flips=flips)
        if lines:
            echo("", *lines)
    if found.gate:
        exit_code(found.gate.holds)
        if not found.gate.is_decided:
            raise typer.Exit(UNDECIDED)


def _tell_that_there_is_no_baseline(baseline: Path, run: Path, *, as_json: bool) -> None:
    note = (
        f'there is no run at "{baseline}" yet, so nothing was compared; to compare the next run with this '
        f"one: cp -r {run} {baseline}"
    )
    if as_json:
        echo_json({"baseline": None, "run": str(run), "note": note})
    else:
        echo(note)


def show_spread(folders: list[Path], *, by_depth: bool, as_json: bool) -> None:
    """
    Return how far runs of one scenario lie apart, on standard output.

    Raises:
        InputError: there are fewer than two runs, or they have no group in common.
    """

    from replay.report.run_document import spread_document
    from replay.report.text import print_titled
    from replay.results.run import Run
    from replay.statistics.repeats import run_spread, same_answers

    if len(folders) < 2:
        raise InputError("--spread needs two runs of one scenario or more; name them")
    runs = [Run(folder) for folder in folders]
    rows = run_spread([run.report(resamples=0).table for run in runs], by_depth=by_depth)
    if not rows:
        raise InputError("the runs have no score of the same system under the same policy in common")
    same = same_answers([run.records() for run in runs])
    signatures = [run.signatures() for run in runs]
    notes = [
        f"{folder} measured other things than the first run: its signatures differ ({', '.join(differing)})."
        for folder, theirs in zip(folders[1:], signatures[1:], strict=True)
        if (differing := _differing(signatures[0], theirs))
    ]
    notes += [
        f"{row.group}, {row.score}: the runs were not scored on equally many turns "
        f"({', '.join(map(str, row.turns))})."
        for row in rows
        if row.depth is None and len(set(row.turns)) > 1
    ]
    names = [str(folder) for folder in folders]
    if as_json:
        content = {
            "runs": names,
            "spread": [row.to_json() for row in rows],
            "same_answers": [one.to_json() for one in same],
            "notes": notes,
        }
        echo_json(content)
    else:
        print_titled(spread_document(names, rows, same, notes), open_console())


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]


def _check_usage(
    runs: list[Path],
    systems: str | None,
    policies: str | None,
    baseline: Path | None,
    *,
    spread: bool,
    gated: bool,
) -> None:
    """
    Raises:
        InputError: what was asked for contradicts itself.
    """
    if spread:
        if baseline is not None or gated:
            raise InputError(
                "--spread looks at runs of one scenario; it takes neither --baseline nor --fail-on"
            )
        return
    if len(runs) > 2:
        raise InputError(
            f"{len(runs)} runs: two are compared at a time; for several of one scenario add --spread"
        )
    if baseline is not None:
        if len(runs) > 1:
            raise InputError("--baseline is the first run; name one more at most")
    elif not runs:
        raise InputError("name two runs, or one and --baseline FOLDER")
    elif len(runs) == 1 and not (systems or policies):
        raise InputError(
            "one run: name what to compare in it with --policies A,B or --systems A,B, or a run to compare "
            "it with by --baseline FOLDER"
        )
