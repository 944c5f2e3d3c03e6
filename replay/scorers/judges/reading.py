"""
Reading verdicts out of what judges write: they explain, decorate and add fences, whatever they are told.
Ratings on a scale come out of a reply's log-probabilities or of several samples too (G-Eval, Liu et al.,
2023, section 2: the scores weighted by their probabilities).

Each reader returns None, or says why, where nothing can be read with confidence, and never a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from replay.core.adapter import TokenLogprobs
from replay.core.asking.prompt import first_object
from replay.scorers.scorer import Unscored

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
        return _rating_in_range(labelled[-1], low, high)  # the last one is the conclusion
    for pattern in (_OUT_OF, _ANY_NUMBER):
        found = [ReadRating(float(m[1]), m.start(1)) for m in pattern.finditer(text)]
        if found:
            return _rating_in_range(found[0], low, high) if len({r.value for r in found}) == 1 else None
    return None


@cache
def _after_label(label: str) -> re.Pattern[str]:
    labels = "|".join(map(re.escape, (label, *_LABELS)))
    return re.compile(rf"\b(?:{labels})\b[\s\"'*_`]*(?:\bis\b|:|=|-)[\s\"'*_`\[(]*({_NUMBER})", re.IGNORECASE)


def _rating_in_range(rating: ReadRating, low: float, high: float) -> ReadRating | None:
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


UNREADABLE = Unscored(reason="no rating in the judge's reply")
CANT_EVALUATE = Unscored(reason="the judge can't evaluate it")
TOO_FEW = Unscored(reason="too few samples gave a rating")

_DIGIT = re.compile(r"\W*(\d)\W*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedRating:
    """The rating's distribution at the place where the judge wrote it."""

    value: float
    """The mean of the scale's ratings, weighted by their probabilities."""
    probabilities: dict[str, float]
    """Of each rating of the scale that was among the candidates, before they are brought to a sum of 1."""

    @property
    def mass(self) -> float:
        """Return how much of the probability lay on the scale; the rest went to other tokens."""
        return math.fsum(self.probabilities.values())


def weighted_rating(
    tokens: Sequence[TokenLogprobs], low: int, high: int, *, label: str
) -> WeightedRating | Unscored:
    """
    Return the probability-weighted mean over the scale's tokens; the scale has single digits only.

    Five candidates 5, 4 and 3 with probabilities 0.6, 0.3 and 0.1 give 4.5.
    """
    text = "".join(token.token for token in tokens)
    rating = read_rating(text, low, high, label=label)
    if rating is None:
        return UNREADABLE
    if rating.value == 0:
        return CANT_EVALUATE
    place, end = 0, 0
    for place, token in enumerate(tokens):  # noqa: B007 - the place is what is wanted
        end += len(token.token)
        if end > rating.start:
            break
    masses: dict[str, float] = {}
    for candidate, logprob in tokens[place].top:
        digit = _DIGIT.fullmatch(candidate)
        if digit and low <= int(digit[1]) <= high:
            # "4" and " 4" are two tokens and one rating.
            masses[digit[1]] = masses.get(digit[1], 0.0) + math.exp(logprob)
    total = math.fsum(masses.values())
    if total <= 0:
        return UNREADABLE
    value = math.fsum(int(digit) * mass for digit, mass in masses.items()) / total
    return WeightedRating(value=value, probabilities=dict(sorted(masses.items())))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRating:
    """Several ratings of the same answer; what is no rating on the scale is left out of their mean."""

    ratings: tuple[float | None, ...]
    """As read, 0 for "can't be evaluated"; None where nothing could be read."""
    failed: int = 0
    """Asks without a reply, beside the ratings."""
    needed: int = 1
    """Ratings on the scale below which there is no mean."""

    @property
    def rated(self) -> int:
        """Return how many ratings the mean is over."""
        return sum(map(bool, self.ratings))

    @property
    def unreadable(self) -> int:
        return self.ratings.count(None)

    @property
    def zeros(self) -> int:
        return self.ratings.count(0)

    @property
    def value(self) -> float | Unscored:
        """The mean of the ratings on the scale; unscored if they are too few, or fewer than the zeros."""
        if self.zeros > self.rated:
            return CANT_EVALUATE
        if self.rated < self.needed:
            return TOO_FEW if self.rated or self.zeros else UNREADABLE
        return math.fsum(rating for rating in self.ratings if rating) / self.rated
