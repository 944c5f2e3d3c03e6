"""English verbs by their forms."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

VerbForm = Literal["base", "third", "past", "participle", "gerund"]

_IRREGULAR = """
arise arose arisen|be was been|bear bore borne|beat beat beaten|become became become|begin began begun|bend bent bent
bind bound bound|blow blew blown|break broke broken|bring brought brought|build built built|burn burned burned
buy bought bought|catch caught caught|choose chose chosen|come came come|cost cost cost|cut cut cut|deal dealt dealt
draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|feel felt felt
fight fought fought|find found found|fly flew flown|forbid forbade forbidden|forget forgot forgotten
freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hang hung hung|have had had
hear heard heard|hide hid hidden|hit hit hit|hold held held|keep kept kept|know knew known|lay laid laid|lead led led
leave left left|let let let|lie lay lain|lose lost lost|make made made|mean meant meant|meet met met
overlap overlapped overlapped|override overrode overridden|oversee oversaw overseen|overwrite overwrote overwritten
pay paid paid|put put put|quit quit quit|read read read|rebuild rebuilt rebuilt|rewrite rewrote rewritten
ride rode ridden|rise rose risen|run ran run|say said said|see saw seen|seek sought sought|sell sold sold
send sent sent|set set set|reset reset reset|shake shook shaken|show showed shown|shrink shrank shrunk|shut shut shut
sit sat sat|sleep slept slept|speak spoke spoken|spend spent spent|split split split|spread spread spread
stand stood stood|stick stuck stuck|take took taken|teach taught taught|tell told told|think thought thought
throw threw thrown|undergo underwent undergone|understand understood understood|undo undid undone
wear wore worn|win won won|write wrote written|do did done|input input input|output output output
"""

_DOUBLED = frozenset(
    ["abort", "admit", "allot", "ban", "bat", "beg", "begin", "blot", "bar", "chat", "clip", "clog", "commit", "compel", "confer", "control", "cut", "debug", "defer", "dig", "drag", "drop", "equip", "excel", "expel", "fit", "flag", "flip", "forget", "format", "get", "grab", "hit", "hop", "incur", "infer", "jog", "kid", "knit", "label", "lag", "let", "log", "map", "mix", "mop", "net", "occur", "omit", "opt", "pad", "patrol", "permit", "pin", "plan", "plot", "plug", "pop", "prefer", "propel", "prop", "prune", "put", "quit", "rebel", "recur", "refer", "regret", "rip", "rob", "rub", "run", "scan", "scrap", "set", "ship", "shop", "shut", "skip", "slip", "slot", "snap", "sit", "split", "spin", "spot", "stem", "step", "stop", "strip", "submit", "swap", "tag", "tap", "top", "transfer", "transmit", "trap", "trim", "unplug", "wrap", "unset", "reset", "program", "zip", "unzip"]
) - {"abort", "format", "mix", "label", "prune"}
"""Verbs whose last letter doubles before "-ed" and "-ing"."""


class Verb(NamedTuple):
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
def _forms() -> dict[str, tuple[Verb, ...]]:
    listed = files(__package__).joinpath("verbs.txt").read_text(encoding="utf-8").split()
    irregular = {
        base: (past, participle)
        for base, past, participle in (
            entry.split() for entry in _IRREGULAR.replace("\n", "|").split("|") if entry
        )
    }
    found: dict[str, list[Verb]] = {}
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
            found.setdefault(word, []).append(Verb(base, form))
    return {word: tuple(verbs) for word, verbs in found.items()}


def verb(word: str, form: VerbForm) -> str | None:
    """Return the base form of *word* if it can be this *form* of a verb, else None."""
    return next((one.base for one in _forms().get(word, ()) if one.form == form), None)
