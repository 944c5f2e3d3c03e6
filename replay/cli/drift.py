"""``replay drift``: which questions drifted in conversations that somebody else has played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.output import echo


def drift(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOGS", help="Files with the system's own answers, or glob patterns."),
    ],
    gold: Annotated[
        list[str],
        typer.Option(
            "--gold", metavar="GOLD", help="The same conversations as recorded. May be given several times."
        ),
    ],
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
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Standard output when left out.")
    ] = None,
) -> None:
    """
    Say which questions drifted in conversations that somebody else has played. No system is asked anything.

    One JSON line for each question: whether it still meant the same after the system's own answers, how it
    should have been put, and the evidence. A table by turn depth goes to standard error.
    """
    from replay.cli.json_lines import json_line, write_lines
    from replay.cli.settings import choose_reader
    from replay.core.errors import InputError
    from replay.core.settings.yaml_lines import parse
    from replay.datasets.loading import expand, read_conversations
    from replay.report.numbers import count_text
    from replay.runs.logged_drift import drift as judged

    value, _, faults = parse(section or "{}")
    if faults or not isinstance(value, dict):
        raise InputError(f"--drift: {faults[0].message if faults else 'a mapping is expected'}")

    def read(files: list[str], name: str | None, given: list[str] | None) -> list[object]:
        reader = choose_reader(name, given or [])
        return list(read_conversations(expand(files, Path.cwd()), reader=reader, on_bad=None, limit=None))

    found = judged(read(gold, gold_format, gold_setting), read(logs, format, setting), drift=value)
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
