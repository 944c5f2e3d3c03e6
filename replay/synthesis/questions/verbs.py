"""English verbs by their forms."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

VerbForm = Literal["base", "third", "past", "participle", "gerund"]


def _data(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_DOUBLED = frozenset(_data("doubling_verbs.txt").split())
"""Verbs whose last letter doubles before "-ed" and "-ing"."""


class VerbReading(NamedTuple):
    """A word seen as a verb."""

    base: str
    form: VerbForm


def gerund(base: str) -> str:
    """Return the form in "-ing" of *base*."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    return (base + base[-1] if base in _DOUBLED else base) + "ing"


def _third(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return (base + base[-1] if base in _DOUBLED else base) + "ed"


@cache
def _forms() -> dict[str, tuple[VerbReading, ...]]:
    listed = _data("verbs.txt").split()
    rows = (line.split() for line in _data("irregular_verbs.txt").splitlines())
    irregular = {base: (past, participle) for base, past, participle in rows}
    found: dict[str, list[VerbReading]] = {}
    for base in dict.fromkeys([*listed, *irregular]):
        past, participle = irregular.get(base, (_regular_past(base),) * 2)
        named: tuple[tuple[str, VerbForm], ...] = (
            (base, "base"),
            (_third(base), "third"),
            (past, "past"),
            (participle, "participle"),
            (gerund(base), "gerund"),
        )
        for word, form in named:
            found.setdefault(word, []).append(VerbReading(base, form))
    return {word: tuple(verbs) for word, verbs in found.items()}


def verb(word: str, form: VerbForm) -> str | None:
    """Return the base form of *word* if it can be this *form* of a verb, else None."""
    return next((one.base for one in _forms().get(word, ()) if one.form == form), None)
