"""``replay study init`` and ``replay study demo``: a study that works as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.output import echo

PresetArgument = Annotated[
    str, typer.Argument(metavar="PRESET", help="mahueval, convqa, rating, compare or drift.")
]


def init(
    preset: PresetArgument,
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write it.")] = Path("study"),
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="The folder of the run that is judged; left out, a small one is played with the embedded "
            "system. Only for rating, compare and drift.",
        ),
    ] = None,
) -> None:
    """
    Write a commented study file to start from, with small data; it works as it is.
    """
    from replay.study.conduct.starter import STUDY, write_starter

    for path in write_starter(preset, folder, run):
        echo(f"wrote {path}")
    echo(f"next: replay study serve {folder / STUDY}")


def demo(
    preset: PresetArgument = "mahueval",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Keep the study there, or go on with the one that is; left out, it is gone when you end it.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8770,
) -> None:
    """
    Serve a small study to look at, with the embedded system: no network, no key.

    Open a rater's link and the owner's, each in a browser window of its own.
    """
    from tempfile import TemporaryDirectory

    from replay.cli.study import serve
    from replay.study.conduct.starter import STUDY, write_starter

    with TemporaryDirectory(prefix="replay-study-", ignore_cleanup_errors=True) as temporary:
        where = folder or Path(temporary) / preset
        if not (where / STUDY).exists():
            write_starter(preset, where)
        echo(f"a {preset} study in {where}{'' if folder else ', gone when you end it (--folder keeps it)'}")
        serve(where / STUDY, port=port)
