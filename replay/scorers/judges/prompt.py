"""Prompt files of judges: ours in ``prompts/``, or the user's own in their place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from replay.core.asking.prompt import Prompt
from replay.scorers.judges.variables import VARIABLES

FOLDER = Path(__file__).resolve().parent / "prompts"


def judge_prompt(
    name: str, own: Path | None = None, *, extra: Iterable[str] = (), needs: Iterable[str] = ()
) -> Prompt:
    """
    Return the template in *own*, or else the shipped one called *name*.

    It may use the variables of a case and *extra*, and has to use one of *needs*, if there are any.

    Raises:
        ValueError: the file can't be read, is no template, or uses other variables.
    """
    return Prompt(own or FOLDER / f"{name}.txt", (*VARIABLES, *extra), needs=tuple(needs))
