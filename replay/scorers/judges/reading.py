"""
Reading verdicts out of what judges write: they explain, decorate and add fences, whatever they are told.

Each reader returns None where nothing can be read with confidence, and never a guess.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from replay.core.asking.prompt import first_object

_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_EITHER = re.compile(r"\b(?:yes\s*(?:/|n?or|and)\s*no|no\s*(?:/|n?or|and)\s*yes)\b", re.IGNORECASE)
# "No" is an answer before a pause or the beginning of a clause, and none in "no doubt" or "no mistake".
_ANSWER = re.compile(
    r"(?P<denied>(?:\bnot|n['’]t|\bcannot|\bnever)(?: \w+){0,2} )?\b(?:(?P<yes>yes)\b|no\b"
    r"(?=\W*$|\s?[^\w\s]|\s+(?:a|an|and|as|because|but|he|i|it|its|she|since|that|the|there|they|this|you)\b))",
    re.IGNORECASE,
)
_NUMBER = r"-?\d+(?:\.\d+)?"
_LABELS = ("score", "rating", "grade")
_OUT_OF = re.compile(rf"(?<![\d.])({_NUMBER})\s*(?:/|out\s+of)\s*{_NUMBER}", re.IGNORECASE)
_ANY_NUMBER = re.compile(rf"(?<![\d.\w])({_NUMBER})(?![\d\w])")
_VERDICT = re.compile(
    r"\bverdict\b[\s\"'*_`]*(?:\bis\b|:|=|-)[\s\"'*_`]*(?:factually\s+)?(\w+)", re.IGNORECASE
)
_MATCHING = {"1": True, "true": True, "matching": True, "0": False, "false": False, "contradicting": False}


def read_yes_no(text: str) -> bool | None:
    """
    Return whether the first "yes" or "no" that *text* gives as an answer is "yes".

    ``read_yes_no("There is no doubt: yes")`` is True; "not a yes" and "yes or no" say nothing.
    """
    answers = (found for found in _ANSWER.finditer(_EITHER.sub(" ", text)) if not found["denied"])
    first = next(answers, None)
    return None if first is None else first["yes"] is not None


def says_both(text: str) -> bool:
    """Return whether both "yes" and "no" are in *text*, so that another reader could take the other."""
    return len({word.lower() for word in _YES_NO.findall(text)}) == 2


class ReadRating(NamedTuple):
    """A number and where its text begins."""

    value: float
    start: int


def read_rating(text: str, low: float, high: float, *, label: str = "score") -> ReadRating | None:
    """
    Return the rating in *text*, 0 (can't be evaluated) or within [low, high].

    A number after *label*, "score", "rating" or "grade" counts first, then one "out of" another, then the
    only number there is. Several numbers without a label ("on a scale of 1 to 5, 4") are no rating.
    """
    labelled = [ReadRating(float(m[1]), m.start(1)) for m in _after_label(label).finditer(text)]
    if labelled:
        return _allowed(labelled[-1], low, high)  # the last one is the conclusion
    for pattern in (_OUT_OF, _ANY_NUMBER):
        found = [ReadRating(float(m[1]), m.start(1)) for m in pattern.finditer(text)]
        if found:
            return _allowed(found[0], low, high) if len({r.value for r in found}) == 1 else None
    return None


@cache
def _after_label(label: str) -> re.Pattern[str]:
    labels = "|".join(map(re.escape, (label, *_LABELS)))
    return re.compile(rf"\b(?:{labels})\b[\s\"'*_`]*(?:\bis\b|:|=|-)[\s\"'*_`\[(]*({_NUMBER})", re.IGNORECASE)


def _allowed(rating: ReadRating, low: float, high: float) -> ReadRating | None:
    return rating if rating.value == 0 or low <= rating.value <= high else None


def read_match(text: str) -> bool | None:
    """
    Return whether a factual verdict says "matching": from a JSON object's ``verdict``, or "verdict: ...".

    None if it is unclear.
    """
    found = first_object(text, ("verdict",))
    said = found.get("verdict") if found else None
    if said is None:
        labelled = _VERDICT.findall(text)
        said = labelled[-1] if labelled else text.strip(" \t\r\n.*\"'`")
    return read_truth(said)


def read_truth(value: object) -> bool | None:
    """
    Return a verdict or criterion, written as 1, "true", "Factually matching", ..., as a truth value.

    None if it is unclear.
    """
    return _MATCHING.get(str(value).strip().lower().removeprefix("factually").strip())
