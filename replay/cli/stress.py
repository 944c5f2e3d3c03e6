"""``replay stress``: play a scenario's conversations under load and show how the system held up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from replay.cli import arguments
from replay.cli.output import echo

if TYPE_CHECKING:
    from replay.scenario.reading import ScenarioFile

DURATION_S = 30.0


def stress(
    scenario: arguments.ScenarioArgument,
    profile: Annotated[
        Literal["closed", "constant", "poisson", "trace", "recorded"] | None,
        typer.Option(
            "--profile",
            help="closed: so many users; the others: arrivals; recorded: by the data's timestamps.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="Users at a time (closed).")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Conversations per second (constant, poisson).")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="When conversations arrive (trace).")
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option("--speed", help="How many times as fast they arrive (trace, recorded)."),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option("--levels", metavar="N,N,...", help="A sweep over these concurrencies or rates."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", metavar="LOW..HIGH", help="Look there for the highest level that keeps every --slo."
        ),
    ] = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            "--slo",
            metavar="KEY=VALUE",
            help="An objective, as in latency_p99_s=3; may be given several times.",
        ),
    ] = None,
    duration_s: Annotated[
        float | None,
        typer.Option(
            "--duration", help=f"Seconds measured at each level; {DURATION_S:g} without another bound."
        ),
    ] = None,
    warmup_s: Annotated[
        float | None, typer.Option("--warmup", help="Seconds before that, not measured.")
    ] = None,
    ramp_s: Annotated[
        float | None, typer.Option("--ramp", help="Seconds in which the load rises; part of the warm-up.")
    ] = None,
    conversations: Annotated[
        int | None, typer.Option("--conversations", min=1, help="Conversations to play at each level.")
    ] = None,
    turns: Annotated[int | None, typer.Option("--turns", min=1, help="Turns to ask at each level.")] = None,
    think: Annotated[
        str | None,
        typer.Option(
            "--think",
            metavar="THINK",
            help="Think time: seconds, recorded, or {kind: exponential, mean_s: 2} and the like.",
        ),
    ] = None,
    order: Annotated[
        Literal["sequential", "shuffle", "sample"] | None,
        typer.Option("--order", help="Which conversation of the data comes next."),
    ] = None,
    max_open: Annotated[
        int | None, typer.Option("--max-open", min=1, help="Conversations at a time at most, if they arrive.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that ask; each takes its share.")
    ] = None,
    on: arguments.OnOption = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="HOST",
            help="A host beyond this machine and private networks that may be put under load.",
        ),
    ] = None,
    otlp: arguments.OtlpOption = None,
    runs: arguments.RunsOption = arguments.RUNS,
    as_json: arguments.JsonOption = False,
    junit: arguments.JunitOption = None,
    full: arguments.FullOption = False,
) -> None:
    """
    Play conversations under load: again and again, with drift handled and every turn scored.

    Options go before what the scenario's `load` section says. Ctrl-C keeps what was answered.
    """
    from replay.cli.playing import play_and_report
    from replay.play.load.section import TIMED
    from replay.runs.launch import load_scenario, run_async
    from replay.scenario.reading import with_changes, with_cluster

    file = with_cluster(load_scenario(scenario), on)
    given = {
        "profile": profile or _implied_profile(file, concurrency, rate, trace, speed),
        "concurrency": concurrency,
        "rate": rate,
        "trace": str(trace.resolve()) if trace else None,
        "speed": speed,
        "duration_s": duration_s,
        "warmup_s": warmup_s,
        "ramp_s": ramp_s,
        "conversations": conversations,
        "turns": turns,
        "think": None if think is None else _think(think),
        "order": order,
        "max_open": max_open,
        "workers": workers,
        "slo": _objectives(slo) if slo else None,
    }
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if sweep := _sweep(levels, search):
        changes["sweep"] = sweep
    elif rate is not None or concurrency is not None or changes.get("profile") in TIMED:
        changes["sweep"] = None  # one level, whatever sweep the scenario has
    if changes.get("profile", "trace") != "trace":
        changes["trace"] = None
    if changes.get("profile", "trace") not in TIMED:
        changes.setdefault("speed", 1.0)
    bounds = ("duration_s", "conversations", "turns")
    bounded = any(bound in changes for bound in bounds) or changes.get("profile") in TIMED
    if file.scenario.load is None and not bounded:
        changes["duration_s"] = DURATION_S
    changed: dict[str, dict[str, Any]] = {"load": changes}
    if file.scenario.play.cache is not None:
        echo("play.cache is left aside: under load every question is asked", err=True)
        changed["play"] = {"cache": None}
    if otlp is not None:
        changed["telemetry"] = {"endpoint": otlp}
    file = with_changes(file, changed)
    play_and_report(
        lambda progress: run_async(file, runs=runs, observer=progress, may_load=allow_host or ()),
        runs,
        as_json=as_json,
        junit=junit,
        full=full,
    )


def _implied_profile(
    file: ScenarioFile,
    concurrency: int | None,
    rate: float | None,
    trace: Path | None,
    speed: float | None,
) -> str | None:
    """Return the profile that an option is one of, where the scenario says another one or none."""
    from replay.play.load.section import TIMED

    said = file.scenario.load.profile if file.scenario.load else None
    if trace:
        return "trace"
    if rate is not None:
        return None if said in ("constant", "poisson") else "poisson"
    if concurrency is not None:
        return "closed"
    return "recorded" if speed is not None and said not in TIMED else None


def _think(text: str) -> Any:
    """
    Raises:
        typer.BadParameter: *text* is not as in a scenario.
    """
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if value is None:
        raise typer.BadParameter(
            f'--think "{text}" is not a think time: seconds, recorded, or {{kind: exponential, mean_s: 2}}'
        )
    return value


def _objectives(texts: Sequence[str]) -> dict[str, float]:
    """
    Raises:
        typer.BadParameter: a text is not KEY=NUMBER.
    """
    found = {}
    for text in texts:
        key, _, value = text.partition("=")
        try:
            found[key.strip()] = float(value)
        except ValueError:
            raise typer.BadParameter(f'"{text}" is not KEY=NUMBER, as in latency_p99_s=3') from None
    return found


def _sweep(levels: str | None, search: str | None) -> dict[str, Any]:
    """
    Raises:
        typer.BadParameter: both were given, or one is not as it should be.
    """
    if levels is not None and search is not None:
        raise typer.BadParameter("--levels and --search are two ways of sweeping; give one")
    try:
        if levels is not None:
            return {"levels": [float(level) for level in levels.split(",")]}
        if search is not None:
            low, _, high = search.partition("..")
            return {"low": float(low), "high": float(high)}
    except ValueError:
        raise typer.BadParameter(
            "--levels takes numbers as in 8,16,32, --search LOW..HIGH as in 8..256"
        ) from None
    return {}
