"""``replay init``: write a commented scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.output import echo


def init(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The scenario file to write (scenario.yaml), or an example's folder."
        ),
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Copy a shipped scenario with its data and programs: support."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="The conversations that it is to play.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented scenario to start from; it runs as it is."""
    from replay.core.errors import DatasetError, InputError, writing
    from replay.datasets.data_file import missing
    from replay.scenario.shipped import example_scenario, starter_scenario

    path = path or Path(example or "scenario.yaml")
    if path.exists() and not force:
        raise InputError(f'"{path}" is there already; choose another name, or add --force')
    if data is not None and example is not None:
        raise InputError("--data and --example don't go together; an example has data of its own")
    if data is not None and not data.exists():
        raise DatasetError(missing(data), path=str(data))
    with writing(path):
        written = starter_scenario(path, data) if example is None else example_scenario(example, path)
    for file in written:
        echo(f"wrote {file}")
    echo(f"next: replay validate {written[0]}, then replay run {written[0]}")
