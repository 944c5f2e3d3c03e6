"""``replay compare``: two runs, or two policies or systems of one run, on the same turns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from replay.cli.arguments import (
    IntervalOption,
    JsonOption,
    PolicyOption,
    ResamplesOption,
    SystemOption,
    echo_json,
)


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="One or two runs' folders.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", metavar="NAME", help="A score; may be given several times. All if left out."
        ),
    ] = None,
    by: Annotated[
        Literal["depth"] | None,
        typer.Option("--by", help="Also a row for each turn depth; more to correct for."),
    ] = None,
    system: SystemOption = None,
    policy: PolicyOption = None,
    systems: Annotated[
        str | None, typer.Option("--systems", metavar="A,B", help="Compare system A with system B.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option("--policies", metavar="A,B", help="Compare policy A with policy B.")
    ] = None,
    spread: Annotated[
        bool, typer.Option("--spread", help="How far two or more repeats of a run lie apart, instead.")
    ] = False,
    flips: Annotated[int, typer.Option("--flips", min=0, help="Flipped turns to list, at most.")] = 10,
    flip_at: Annotated[
        float, typer.Option("--flip-at", min=0.0, max=1.0, help="A turn at or above this score is right.")
    ] = 0.5,
    resamples: ResamplesOption = 1000,
    permutations: Annotated[
        int, typer.Option("--permutations", min=1, help="Swaps drawn where there are too many to try all.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For resamples and swaps.")] = 0,
    interval: IntervalOption = "percentile",
    as_json: JsonOption = False,
) -> None:
    """
    Show by how much the second run differs from the first on the same turns, and whether by chance.

    With one run, --policies or --systems name what to compare within it.
    """
    from rich.console import Console

    from replay.report.compare_text import print_comparison
    from replay.report.pairing import pair_groups, selected, two_names
    from replay.runs.run import Run
    from replay.statistics.comparison import ComparisonSettings
    from replay.statistics.run_comparison import comparison_report

    if spread:
        show_spread(runs, by_depth=by is not None, as_json=as_json)
        return
    _check_usage(runs, systems, policies)
    found = [Run(folder).scored_run(str(folder)) for folder in runs]
    first, second = found[0], found[-1]
    pairs = pair_groups(
        *(selected(run.groups(), system or (), policy or ()) for run in (first, second)),
        systems=two_names(systems, "--systems") if systems else None,
        policies=two_names(policies, "--policies") if policies else None,
    )
    report = comparison_report(
        first,
        second,
        pairs,
        metrics=metric or (),
        settings=ComparisonSettings(
            by_depth=by is not None,
            flip_at=flip_at,
            resamples=resamples,
            permutations=permutations,
            seed=seed,
            method=interval,
        ),
    )
    if as_json:
        echo_json(report.to_json())
    else:
        print_comparison(report, Console(), flips=flips)


def show_spread(folders: list[Path], *, by_depth: bool, as_json: bool) -> None:
    """
    How far repeats of a run lie apart, on standard output.

    Raises:
        InputError: there are fewer than two runs, or they have no group in common.
    """
    from rich.console import Console

    from replay.core.errors import InputError
    from replay.report.spread_text import print_spread
    from replay.runs.run import Run
    from replay.statistics.run_spread import run_spread, same_answers

    if len(folders) < 2:
        raise InputError("--spread needs two runs or more; `replay run SCENARIO --repeats 3` makes three")
    runs = [Run(folder) for folder in folders]
    rows = run_spread([run.report(resamples=0).table for run in runs], by_depth=by_depth)
    if not rows:
        raise InputError("the runs have no score of the same system under the same policy in common")
    same = same_answers([run.records() for run in runs])
    signatures = [run.signatures() for run in runs]
    notes = [
        f"{folder} is no repeat of the first run: its signatures differ ({', '.join(differing)})."
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
        print_spread(names, rows, same, notes, Console())


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]


def _check_usage(runs: list[Path], systems: str | None, policies: str | None) -> None:
    from replay.core.errors import InputError

    if len(runs) > 2:
        raise InputError(f"{len(runs)} runs: two are compared at a time; for repeats of one run add --spread")
    if len(runs) == 1 and not (systems or policies):
        raise InputError("one run: name what to compare in it with --policies A,B or --systems A,B")
