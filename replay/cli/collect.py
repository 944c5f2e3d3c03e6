"""``replay collect``: production logs become a suite that is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli import arguments
from replay.cli.output import echo


def collect(
    logs: Annotated[
        list[str] | None, typer.Argument(metavar="LOGS", help="Log files, or glob patterns.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="SUITE", help="The suite's folder, not there yet.")
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            "--review", metavar="SUITE", help="Look through a suite in a browser, in place of making one."
        ),
    ] = None,
    format: arguments.FormatOption = None,
    setting: arguments.SetOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Conversations at most.")] = 50,
    min_turns: Annotated[int, typer.Option("--min-turns", min=1, help="Leave shorter ones out.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="For what is drawn: the same seed takes the same.")] = 0,
    read: Annotated[
        int,
        typer.Option(
            "--read",
            min=0,
            help="How many are read for what their questions lean on: a second for about two.",
        ),
    ] = 200,
    patterns: Annotated[
        Path | None,
        typer.Option(
            "--patterns",
            metavar="FILE",
            help="What is personal, and what isn't, in these logs: replace and keep.",
        ),
    ] = None,
    replaced: Annotated[
        Path | None,
        typer.Option(
            "--replaced",
            metavar="FILE",
            help="The list of what was replaced, for you alone; beside the suite if left out.",
        ),
    ] = None,
    any_language: Annotated[
        bool,
        typer.Option(
            "--any-language", help="Also conversations that are not English, whose names are told worse."
        ),
    ] = False,
    skip_bad: arguments.SkipBadOption = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Of --review; 0 takes any free port.")
    ] = 8780,
    token_env: arguments.TokenEnvOption = None,
    no_token: arguments.NoTokenOption = False,
) -> None:
    """
    Make a suite of production logs: what is worth keeping, without personal data.

    Writes conversations, a scenario that plays them and a report. Names, addresses, numbers and keys are
    replaced before anything is written; a list of them, which only you can read, goes beside the suite.

    With --review, look through it: accept, edit or drop each conversation, and say what is expected.
    """
    from replay.core.errors import InputError

    if review is not None:
        if logs or out is not None:
            raise InputError(
                "--review takes a suite that is there; LOGS and --out make one, so leave them out"
            )
        _review(review, replaced, port, token_env, no_token)
        return
    if not logs or out is None:
        raise InputError("name log files and --out SUITE, or --review SUITE")
    from replay.cli.output import open_console
    from replay.cli.settings import choose_reader
    from replay.collecting.collect import check_installed, collect as collect_logs, read_rules
    from replay.collecting.report import MARKDOWN, CollectSettings, suite_document
    from replay.datasets.loading import expand
    from replay.report.text import print_titled

    check_installed()
    made = collect_logs(
        expand(logs, Path.cwd()),
        out,
        reader=choose_reader(format, setting or []),
        replaced_list=replaced,
        settings=CollectSettings(
            limit=limit,
            seed=seed,
            min_turns=min_turns,
            read=read,
            any_language=any_language,
            skip_bad=skip_bad,
            rules=None if patterns is None else read_rules(patterns),
        ),
        on_progress=lambda text: echo(text, err=True),
    )
    for error in made.errors:
        echo(f"skipped: {error}", err=True)
    print_titled(suite_document(made), open_console())
    echo(f"wrote {made.folder}, with this report as {MARKDOWN}")
    echo(f"what was replaced, for you alone: {made.replaced_list}")
    echo(f"next: replay collect --review {made.folder}, then replay run {made.folder}")


def _review(suite: Path, replaced: Path | None, port: int, token_env: str | None, no_token: bool) -> None:
    from replay.cli.signals import run_server
    from replay.collecting.review import serve_review

    token = arguments.choose_token(
        token_env, no_token, "every user and every program of this machine can read and change the suite"
    )

    def ready(address: str) -> None:
        link = "" if token is None else f"?token=${token_env}" if token_env else f"?token={token}"
        echo(f"the suite is shown at {address}{link} (Ctrl-C ends it)")

    run_server(serve_review(suite, replaced, port=port, token=token, ready=ready))
