"""``replay init``: write a commented scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.output import echo


def init(
    path: Annotated[Path, typer.Argument(metavar="[FILE]", help="The scenario file to write.")] = Path(
        "scenario.yaml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented scenario to start from; it runs as it is."""
    from replay.core.errors import InputError, writing
    from replay.scenario.shipped import starter_scenario

    if path.exists() and not force:
        raise InputError(f'"{path}" is there already; choose another name, or add --force')
    with writing(path):
        written = starter_scenario(path)
    for file in written:
        echo(f"wrote {file}")
    echo(f"next: replay validate {path}, then replay run {path}")
