"""
Criteria of a rating on a scale: the shipped ones, and those of a user's own file.

Naturalness, coherence, engagingness and groundedness are the criteria of G-Eval on dialogue (Liu et al.,
2023) after USR (Mehri & Eskenazi, 2020); definitions and steps are in our own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from replay.scorers.judges.prompt import FOLDER

BUILT_IN = FOLDER / "criteria.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCriterion:
    """One thing that is rated."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    definition: str
    scale: tuple[int, int] = (1, 5)
    """Lowest and highest rating; 0 means "can't be evaluated"."""
    steps: tuple[str, ...] = ()
    """How to go about it; the judge is asked for steps once where there are none."""
    needs_fact: bool = False
    """Whether it can't be judged without the fact that the answer should rest on."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name) or self.name == "mean":
            raise ValueError(
                f'"{self.name}" can\'t name a criterion: letters, digits, - and _, and not "mean"'
            )
        low, high = self.scale
        if not 0 < low < high:
            raise ValueError(f"scale [{low}, {high}] of {self.name} doesn't go up from 1 or more")


def read_criteria(path: Path) -> dict[str, JudgeCriterion]:
    """
    Return the criteria in the YAML file at *path*, a list of mappings, by name and in order.

    Raises:
        ValueError: the file can't be read, or has faults; the message names all of them.
    """
    from pydantic import TypeAdapter, ValidationError

    from replay.core.settings.yaml_lines import parse

    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f'the criteria file "{path}" can\'t be read: {reason}') from error
    value, lines, faults = parse(text)
    if faults:
        raise ValueError(f'the criteria file "{path}", line {faults[0].line}: {faults[0].message}')
    try:
        found = TypeAdapter(tuple[JudgeCriterion, ...]).validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False)
        said = "; ".join(
            f"{_place(d['loc'], lines.of)}{d['msg'].removeprefix('Value error, ')}" for d in detail
        )
        raise ValueError(f'the criteria file "{path}": {said}') from error
    by_name = {criterion.name: criterion for criterion in found}
    if not found or len(by_name) < len(found):
        raise ValueError(
            f'the criteria file "{path}" names {"a criterion twice" if found else "no criterion"}'
        )
    return by_name


def _place(keys: Sequence[int | str], line_of: Any) -> str:
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    line = line_of(path)
    return f"{path.removeprefix('.')} (line {line}): " if line else f"{path}: "


def select_criteria(names: Sequence[str] | None, file: Path | None) -> tuple[JudgeCriterion, ...]:
    """
    Return the criteria called *names*, from *file* or ours; without names, all of them.

    Raises:
        ValueError: there is no such criterion, or *file* has faults.
    """
    from replay.core.settings.faults import nearest

    own = read_criteria(file) if file else {}
    known: Mapping[str, JudgeCriterion] = {**read_criteria(BUILT_IN), **own}
    for name in names or ():
        if name not in known:
            raise ValueError(
                f'criteria: "{name}" is not a criterion{nearest(name, known)} (known: {", ".join(known)})'
            )
    if names is not None and (not names or len(set(names)) < len(names)):
        raise ValueError(f"criteria: {'one is there twice' if names else 'none is named'}")
    return tuple(known[name] for name in (names or own or known))
