"""
Ratings on a scale, out of a reply's log-probabilities or of several samples (G-Eval, Liu et al., 2023,
section 2: the scores weighted by their probabilities).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.adapter import TokenLogprobs
from replay.scorers.judges.reading import read_rating
from replay.scorers.scorer import Unscored

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
