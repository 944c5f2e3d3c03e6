"""``replay view``: runs in a browser, while they go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.arguments import RUNS, NoTokenOption, PortOption, RunsOption, TokenEnvOption, choose_token
from replay.cli.output import echo


def view(
    run: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="Runs' folders; left out, all in --runs."),
    ] = None,
    runs: RunsOption = RUNS,
    port: PortOption = 8765,
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
    token_env: TokenEnvOption = None,
    no_token: NoTokenOption = False,
) -> None:
    """
    Show runs in a browser, on this machine only, live while a run goes on.

    Scores by depth, gold against own history, every conversation, and comparisons of runs.

    The link that it prints holds a token, which keeps other users and programs of this machine out.
    """

    from replay.cli.signals import run_server
    from replay.viewer.viewer import serve_pages

    token = choose_token(
        token_env, no_token, "every user and every program of this machine can read all that is shown"
    )

    def ready(address: str) -> None:
        # A token of the user's own is shown by the name of its variable, as a shell fills it in.
        link = "" if token is None else f"?token=${token_env}" if token_env else f"?token={token}"
        echo(f"runs are shown at {address}{link} (Ctrl-C ends it)")

    run_server(serve_pages(run or [], runs, host=host, port=port, token=token, ready=ready))
