"""What the verbs of ``replay study`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyArgument = Annotated[
    Path,
    typer.Argument(
        metavar="[STUDY]", help="A study file, its folder, or its database; left out, this folder."
    ),
]
DbOption = Annotated[
    Path | None,
    typer.Option(
        "--db", metavar="FILE", help="The study's database; left out, study.db beside the study file."
    ),
]
