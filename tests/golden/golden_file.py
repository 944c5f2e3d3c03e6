"""
Golden files of numbers: one line a question, and for each column the version that its values belong to.

The first line holds the versions (``{"versions": {column: version}, "of": what was read}``), every other
line ``at``, the place, and a value for each column. So a difference in git names the question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "numbers"

DIGITS = 6
TOLERANCE = 1e-5
"""
How far a number may be from the one in its file. Processors add up in different orders, which moves the
last bits; a probability is then cut to a millionth, and a verdict adds up several of them.
"""
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """What one file holds, or should hold now."""

    of: str
    """What was read; where that is new, so are the numbers, and no version tells them apart."""
    versions: Mapping[str, str]
    """By column: what changes whenever a value of it may."""
    rows: Mapping[str, Mapping[str, Any]]
    """By place and column: JSON values."""

    def written(self) -> str:
        """The file's text."""
        lines = [{"versions": dict(self.versions), "of": self.of}]
        lines += [{"at": at, **row} for at, row in self.rows.items()]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One value that is no longer what it was."""

    at: str
    column: str
    before: Any
    now: Any

    def __str__(self) -> str:
        shown = (json.dumps(value, ensure_ascii=False) for value in (self.before, self.now))
        return "  {} {}\n    was {}\n    is  {}".format(self.at, self.column, *shown)


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"


def kept(name: str) -> Golden:
    """What the file called *name* holds; nothing where there is no such file."""
    path = path_of(name)
    if not path.exists():
        return Golden(of="", versions={}, rows={})
    head, *lines = map(json.loads, path.read_text("utf-8").splitlines())
    return Golden(of=head["of"], versions=head["versions"], rows={line.pop("at"): line for line in lines})


def plain(value: Any) -> Any:
    """*value* as a file would give it back, with its numbers cut to ``DIGITS``."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def moved(before: Golden, now: Golden) -> Iterator[Moved]:
    """Every value that differs by more than ``TOLERANCE``, in columns that both have."""
    for at in before.rows | now.rows:
        for column in now.versions:
            if column in before.versions:
                was, is_now = (side.rows.get(at, {}).get(column) for side in (before, now))
                if not alike(was, is_now):
                    yield Moved(at=at, column=column, before=was, now=is_now)


def alike(first: Any, second: Any) -> bool:
    """Whether the two are equal but for the last digits of numbers in them."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if isinstance(first, float) or isinstance(second, float):
        numbers = isinstance(first, int | float) and isinstance(second, int | float)
        return numbers and abs(first - second) <= TOLERANCE
    return bool(first == second)


def silent(before: Golden, now: Golden) -> list[Moved]:
    """What moved though everything has the version that it had."""
    if before.of != now.of:
        return []
    return [one for one in moved(before, now) if before.versions[one.column] == now.versions[one.column]]


def told(name: str, changes: list[Moved], raise_what: Mapping[str, str]) -> str:
    """*changes* in words, the first ones with their values, and what is to be raised for each column."""
    columns = dict.fromkeys(one.column for one in changes)
    lines = [f"{name}: {len(changes)} values moved, and their versions are the ones they had", ""]
    lines += map(str, changes[:SHOWN])
    if len(changes) > SHOWN:
        lines.append(f"  ... and {len(changes) - SHOWN} more")
    lines += ["", "If that is meant to be:", *(f"  {column}: {raise_what[column]}" for column in columns)]
    lines += ["then `python -m tests.golden.write`, and read the difference in git."]
    return "\n".join(lines)
