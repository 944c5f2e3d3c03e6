"""
Whether two texts that are alike letter by letter can state the same facts: their figures and names, whether
they deny, and which way things go.

A difference of one letter or word turns "in 1987" into "in 1988", "rose" into "fell" and "did" into "didn't",
and hardly moves a measure of characters. Denial and direction are known in English only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from replay.scorers.figures import Figure, Kind, figures

Difference = Literal["figures", "names", "direction", "negation"]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NAME = re.compile(r"(?<=[^.!?:\s]\s)[A-Z][^\W_]+")
SAME_NAME = 75.0
"""Likeness in per cent from which on two names may be one, misspelt or inflected."""
_DENIES = re.compile(
    r"\b(?:(?:not|(?:is|are|was|were|do|does|did|has|have|had|ca|wo|would|could|should|might|must|need)n['’]?t)"
    r"(?!\W+(?:only|just|merely|simply)\b)|no(?!\W+doubt\b|\.?\s*(?-i:[\d#]|(?<=\.\s)[a-z]))"
    r"|never|none|nobody|nothing|nowhere|neither|cannot|without)\b",
    re.IGNORECASE,
)

_RISE = """
rise rises rose risen rising increase increases increased increasing grow grows grew grown growing growth gain
gains gained climb climbs climbed climbing jump jumps jumped soar soars soared surge surges surged up upward
upwards expand expands expanded expansion improve improves improved improvement strengthened accelerated
doubled tripled raise raises raised
"""
_FALL = """
fall falls fell fallen falling decrease decreases decreased decreasing decline declines declined declining
drop drops dropped dropping sink sinks sank sunk shrink shrinks shrank shrunk plunge plunges plunged slump
slumps slumped down downward downwards contracted contraction worsen worsens worsened deteriorated weakened
slowed halved reduce reduces reduced reduction lowered
"""
_MORE = """
more higher greater larger bigger above over most highest largest biggest maximum longer older faster exceeds
exceeded
"""
_LESS = "less fewer lower smaller below under least fewest lowest smallest minimum shorter younger slower"
_WON, _LOST = "won win wins winning winner profit profits", "lost lose loses losing loser loss losses"
_AXES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        (_RISE, _FALL),
        (_MORE, _LESS),
        ("before earlier", "after later"),
        (_WON, _LOST),
        ("best better", "worst worse"),
    )
)
"""Words of either way. Only those of one axis contradict each other: "fell by more than" doesn't."""
_DOWN = frozenset(f"{_FALL} {_LESS} {_LOST}".split())


def difference(gold: str, answer: str) -> Difference | None:
    """
    Return the kind of fact that *answer* states otherwise than *gold*; None if no difference shows.

    Figures: each of *gold*'s is in *answer*, in the same order, however written; *answer* may have more.
    Names: at most one of the two texts has a name that the other lacks. Ordinals, months, weekdays and
    directions: if both name some, one names them in the order of the other. Negation is left to callers that
    know which clauses belong together.
    """
    if not _figures_agree(gold, answer):
        return "figures"
    if not _names_agree(gold, answer):
        return "names"
    words, others = _words(gold), _words(answer)
    ways = ((_ways(words, axis), _ways(others, axis)) for axis in range(len(_AXES)))
    return None if all(_one_in_other(one, other) for one, other in ways) else "direction"


def denials(text: str) -> int:
    """Return how often *text* says not, no, never, ...; "not only" and "No. 1" deny nothing."""
    return len(_DENIES.findall(text))


def _figures_agree(gold: str, answer: str) -> bool:
    wanted, given = figures(gold), figures(answer)
    rest = iter(given)
    for one in wanted:
        if one.needed and not any(_same(one, other, gold, answer) for other in rest):
            return False
    kinds: tuple[Kind, ...] = ("ordinal", "month", "weekday")
    named = ([[one.value for one in some if one.kind == kind] for some in (wanted, given)] for kind in kinds)
    return all(_one_in_other(one, other) for one, other in named)


def _names_agree(gold: str, answer: str) -> bool:
    """Return whether *gold* has no name missing in *answer* that *answer* replaces by another."""
    return not (_unknown(_names(gold), answer) and _unknown(_names(answer), gold))


def _unknown(names: Sequence[str], text: str) -> bool:
    """Return whether one of *names* is like no word of *text*."""
    from rapidfuzz.fuzz import ratio

    words = set(_words(text))
    return any(name not in words and all(ratio(name, word) < SAME_NAME for word in words) for name in names)


def _names(text: str) -> list[str]:
    """Return the words with a capital within a sentence, in lower case."""
    return [name.lower() for name in _NAME.findall(text)]


def _same(one: Figure, other: Figure, gold: str, answer: str) -> bool:
    """Return whether both are the same, with their signs: "-5%" is a fall of 5 %."""
    if not one.same(other):
        return False
    if (one.value < 0) == (other.value < 0):
        return True
    unsigned = answer if one.value < 0 else gold
    return not _DOWN.isdisjoint(_words(unsigned))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _ways(words: Sequence[str], axis: int) -> list[bool]:
    """Return the directions that *words* name: True for the first kind of the axis."""
    first, second = _AXES[axis]
    return [word in first for word in words if word in first or word in second]


def _one_in_other(some: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether one of the two holds the other in its order."""
    short, long = sorted((some, others), key=len)
    rest = iter(long)
    return all(one in rest for one in short)
