"""``replay drift``: which questions drifted, or would, in conversations that somebody else has played."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli.arguments import LinesOption
from replay.cli.output import count_along, echo

if TYPE_CHECKING:
    from replay.core.conversation import Conversation


def drift(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOGS", help="Files with the system's own answers, or glob patterns."),
    ],
    gold: Annotated[
        list[str] | None,
        typer.Option(
            "--gold",
            metavar="GOLD",
            help="The same conversations as recorded. May be given several times. Without it, what questions "
            "of LOGS lean on is told from these alone.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="The reader of LOGS; found out if left out."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of it; may be given several times."),
    ] = None,
    gold_format: Annotated[
        str | None,
        typer.Option("--gold-format", metavar="NAME", help="The reader of GOLD; found out if left out."),
    ] = None,
    gold_setting: Annotated[
        list[str] | None,
        typer.Option("--gold-set", metavar="KEY=VALUE", help="A setting of it; may be given several times."),
    ] = None,
    section: Annotated[
        str | None,
        typer.Option(
            "--drift", metavar="YAML", help="As a scenario's drift: '{mode: hard, window: 3}', for instance."
        ),
    ] = None,
    out: LinesOption = None,
) -> None:
    """
    Say which questions drifted in conversations that somebody else has played. No system is asked anything.

    One JSON line for each question: whether it still meant the same after the system's own answers, how it
    should have been put, and the evidence. A table by turn depth goes to standard error.

    Without --gold, as of production logs: which questions lean on an earlier answer, on which words, how far
    back, and which of them would mean something else if that answer were wrong.
    """
    from replay.cli.settings import read_named
    from replay.core.errors import InputError
    from replay.core.settings.yaml_lines import parse

    value, _, faults = parse(section or "{}")
    if faults or not isinstance(value, dict):
        raise InputError(f"--drift: {faults[0].message if faults else 'a mapping is expected'}")
    if gold:
        recorded = list(read_named(gold, gold_format, gold_setting))
        _write_drift(recorded, list(read_named(logs, format, setting)), value, out)
    elif gold_format or gold_setting:
        raise InputError("--gold-format and --gold-set need --gold")
    else:
        _write_leaning(list(read_named(logs, format, setting)), value, out)


def _write_drift(
    gold: list[Conversation], logs: list[Conversation], section: dict[str, Any], out: Path | None
) -> None:
    from replay.cli.output import json_line, write_lines
    from replay.report.numbers import count_text
    from replay.runs.logged_drift import drift as judged

    with count_along("judging conversations") as on_progress:
        found = judged(gold, logs, drift=section, on_progress=on_progress)
    write_lines(map(json_line, found.rows()), out)
    echo("depth  questions  judged  invalid  invalid %", err=True)
    for row in found.by_depth():
        depth = "all" if row.depth is None else row.depth
        share = "-" if row.invalid_share is None else f"{100 * row.invalid_share:.1f}"
        echo(f"{depth:>5}{row.turns:>11}{row.drift_checked:>8}{row.invalid:>9}{share:>11}", err=True)
    for reason, count in found.by_depth()[-1].unjudged.items() if found.records else ():
        echo(f"{count} not judged: {reason}", err=True)
    if edited := sum(row["asked"] != row["question"] for row in found.rows()):
        questions = count_text(edited, "question", ("was", "were"))
        echo(f"{questions} put otherwise in the logs than recorded", err=True)
    if found.left_out:
        left_out = count_text(found.left_out, "conversation")
        are = "is" if found.left_out == 1 else "are"
        echo(f"{left_out} of the gold data {are} not in the logs", err=True)
    echo(found.signature, err=True)


def _write_leaning(logs: list[Conversation], section: dict[str, Any], out: Path | None) -> None:
    from replay.cli.output import json_line, write_lines
    from replay.runs.logged_leaning import leaning
    from replay.statistics.interval import Interval, UndefinedNumber

    with count_along("reading conversations") as on_progress:
        found = leaning(logs, drift=section, on_progress=on_progress)
    write_lines(map(json_line, found.rows()), out)
    echo("depth  questions  judged  lean on an answer  at risk  at risk %  95 % interval", err=True)
    for row in found.by_depth():
        depth = "all" if row.depth is None else row.depth
        value, ends = row.at_risk_share.value, row.at_risk_share.interval
        share = "-" if isinstance(value, UndefinedNumber) else f"{100 * value:.1f}"
        between = f"{100 * ends.low:.1f} to {100 * ends.high:.1f}" if isinstance(ends, Interval) else "-"
        echo(
            f"{depth:>5}{row.questions:>11}{row.judged:>8}{row.lean_on_answer:>19}{row.at_risk:>9}{share:>11}"
            f"{between:>15}",
            err=True,
        )
    for reason, count in found.count_unjudged().items():
        echo(f"{count} not judged: {reason}", err=True)
    echo(found.summary(), err=True)
    echo(found.signature, err=True)
