"""
The interval for few conversations: t, in the form that the kind of number asks for.

A percentile interval of five conversations is too narrow twice over: resampled values spread less than
values of new conversations, by a factor of sqrt((n - 1)/n), and it is as sure of that spread as if it were
known. Here the *standard error* is the resampled values' standard deviation times sqrt(n/(n - 1)), with n
conversations, and t the quantile of Student's distribution with n - 1 degrees of freedom.

``difference``: estimate +- t * standard error.

``share`` in [0, 1]: Wilson's interval (JASA 22, 1927) with t for z, and as many independent cases
m = p (1 - p)/error^2 as would have the same standard error (Korn & Graubard, *Confidence intervals for
proportions with small expected number of positive counts estimated from survey data*, Survey Methodology
24, 1998, take Clopper & Pearson's in its place). It stays within the scale. Where all is right or all is
wrong there is no spread to learn m from: it is Wilson's own, with every conversation as one case whatever
its number of turns. ``signed share`` in [-1, 1], a difference of shares or a correlation r: the same for
(1 + r)/2.

``amount``, as seconds, tokens or ratings: estimate +- t * standard error, and each end moved outwards to
where Hall's transformation puts it, if that is further out (Hall, *On the removal of skewness by
transformation*, JRSS B 54, 1992). Its skewness is the resampled values', corrected for bias as usual by
sqrt(n (n - 1))/(n - 2). Never inwards: few conversations don't tell their skewness well enough. What was
nowhere below 0 has no end there: seconds are not negative.

``benchmarks/interval_coverage.py`` measures all of them.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from replay.scorers.scorer import SHARE
from replay.statistics.undefined import UndefinedNumber

Scale = Literal["share", "signed share", "amount", "difference"]
"""What a number is, which decides about the form of its interval."""

SAME = UndefinedNumber(reason="every conversation gives the same value")

_TOLERANCE = 1e-9


def scale_of(unit: str, *, difference: bool = False) -> Scale:
    """Of a score that counts in *unit*, or of the difference of two such scores."""
    if unit == SHARE:
        return "signed share" if difference else "share"
    return "difference" if difference else "amount"


def t_ends(
    resampled: NDArray[np.float64], estimate: float, *, conversations: int, confidence: float, scale: Scale
) -> tuple[float, float] | UndefinedNumber:
    """
    Both ends around *estimate*, from its *resampled* values without NaN and the two or more *conversations*.

    Undefined without any spread, but for shares of 0 and 1. What names itself a share and lies outside of
    [0, 1], as a rescaled score may, is treated as an amount, and a signed share as a difference.
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + confidence) / 2
    t = float(stdtrit(conversations - 1, upper))
    deviations = resampled - resampled.mean()
    spread = math.sqrt((deviations**2).mean())
    if spread <= _TOLERANCE * max(1.0, abs(estimate)):
        if scale == "share" and estimate in (0, 1):
            return wilson_ends(estimate, conversations, float(ndtri(upper)))
        return SAME
    error = spread * math.sqrt(conversations / (conversations - 1))
    if scale == "share" and 0 < estimate < 1:
        return wilson_ends(estimate, estimate * (1 - estimate) / error**2, t)
    if scale == "signed share" and abs(estimate) < 1:
        low, high = wilson_ends((1 + estimate) / 2, (1 - estimate**2) / error**2, t)
        return 2 * low - 1, 2 * high - 1
    low, high = estimate - t * error, estimate + t * error
    if scale in ("share", "amount") and conversations > 2:
        bias = math.sqrt(conversations * (conversations - 1)) / (conversations - 2)
        skewness = bias * float((deviations**3).mean()) / spread**3
        low = min(low, estimate - _untransformed(t, skewness) * error)
        high = max(high, estimate - _untransformed(-t, skewness) * error)
    if scale == "amount" and resampled.min() >= 0:
        low = max(low, 0.0)
    return low, high


def wilson_ends(share: float, cases: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of *share*, seen in so many independent *cases*; *z* standard errors wide."""
    half = z**2 / (2 * cases)
    room = math.sqrt(2 * half * share * (1 - share) + half**2)  # of a share of 0 half to the last bit
    low, high = (share + half - room) / (1 + 2 * half), (share + half + room) / (1 + 2 * half)
    return max(0.0, low), min(1.0, high)


def _untransformed(t: float, skewness: float) -> float:
    """The studentized value that Hall's transformation takes to *t*; *skewness* is that of the estimate."""
    if abs(skewness) < _TOLERANCE:
        return t
    return float(np.cbrt(1 + skewness * (t - skewness / 6)) - 1) / (skewness / 3)
