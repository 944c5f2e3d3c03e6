"""Asks before a run that somebody else began makes this machine do something."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.output import echo, open_console

if TYPE_CHECKING:
    from replay.core.safety.provenance import UntrustedActions

AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Of a run that you didn't begin on this machine: do what it names, without asking.",
    ),
]


def ask_consent(actions: UntrustedActions | None, *, allow_code: bool) -> None:
    """
    Go on if the user says so, on a terminal, or said so by ``--allow-code``.

    Raises:
        RunError: there is nobody to ask.
        typer.Exit: the user says no.
    """
    from replay.core.safety.provenance import check_consent

    if not actions or allow_code or not (sys.stdin.isatty() and open_console(stderr=True).is_terminal):
        check_consent(actions, allow_code=allow_code, say="--allow-code")
        return
    echo(*actions.text().split("\n"), err=True)
    if not typer.confirm("Do you trust where it came from?", default=False, err=True):
        echo("nothing was done", err=True)
        raise typer.Exit(2)
