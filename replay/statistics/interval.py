"""
From resampled values to a confidence interval: t, percentile or BCa.

``t``, the one that is used unless another is asked for, is made for few conversations: see
below.

``percentile`` takes the central share of the resampled values (Efron & Tibshirani, *An Introduction to
the Bootstrap*, 1993, chapter 13). ``bca`` moves both ends for the resamples' median bias and for a
standard error that changes with the value (Efron, *Better bootstrap confidence intervals*, JASA 82,
1987; Efron & Tibshirani, section 14.3):

    z0 = Phi^-1(share of resampled values below the estimate, those equal to it counting half)
    a  = sum((m - t_i)^3) / (6 sum((m - t_i)^2)^(3/2)),  t_i without conversation i, m the mean of the t_i
    an end at q becomes the quantile Phi(z0 + (z0 + z_q) / (1 - a (z0 + z_q)))

BCa has a smaller error in large samples and keeps its coverage for skewed scores; with a handful of
conversations neither of the two can be trusted. Where BCa has no value, there is no interval and the
reason is given: a percentile interval in its place would look like what was asked for.

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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from replay.scorers.scorer import SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class UndefinedNumber:
    """In place of a number."""

    reason: str


def value_or_none(value: float | UndefinedNumber) -> float | None:
    """Return *value*, or None if it is undefined; for JSON and tables that give the reason elsewhere."""
    return None if isinstance(value, UndefinedNumber) else value


Scale = Literal["share", "signed share", "amount", "difference"]
"""What a number is, which decides about the form of its interval."""

SAME = UndefinedNumber(reason="every conversation gives the same value")

_T_TOLERANCE = 1e-9


def scale_of(unit: str, *, difference: bool = False) -> Scale:
    """Return the scale of a score that counts in *unit*, or of the difference of two such scores."""
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
    if spread <= _T_TOLERANCE * max(1.0, abs(estimate)):
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
        low = min(low, estimate - _invert_transform(t, skewness) * error)
        high = max(high, estimate - _invert_transform(-t, skewness) * error)
    if scale == "amount" and resampled.min() >= 0:
        low = max(low, 0.0)
    return low, high


def wilson_ends(share: float, cases: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of *share*, seen in so many independent *cases*; *z* standard errors wide."""
    half = z**2 / (2 * cases)
    room = math.sqrt(2 * half * share * (1 - share) + half**2)  # of a share of 0 half to the last bit
    low, high = (share + half - room) / (1 + 2 * half), (share + half + room) / (1 + 2 * half)
    return max(0.0, low), min(1.0, high)


def _invert_transform(t: float, skewness: float) -> float:
    """
    Return the studentized value that Hall's transformation takes to *t*.

    *skewness* is that of the estimate.
    """
    if abs(skewness) < _T_TOLERANCE:
        return t
    return float(np.cbrt(1 + skewness * (t - skewness / 6)) - 1) / (skewness / 3)


IntervalMethod = Literal["t", "percentile", "bca"]
Vector = NDArray[np.float64]

METHOD_NAMES: dict[IntervalMethod, str] = {
    "t": "Student's t (Wilson's where bounded)",
    "percentile": "percentile bootstrap",
    "bca": "BCa bootstrap",
}

FEW = UndefinedNumber(reason="fewer than two conversations")
NO_RESAMPLES = UndefinedNumber(reason="no resamples")
NOT_DRAWN = UndefinedNumber(reason="no resample has a value")

# Resampled values come from matrix products, the estimate from an exact sum: equal values differ in
# their last digits, and a value counted as below that is equal moves z0.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Both ends, in the units of the score."""

    low: float
    high: float


def ends_of(found: Interval | UndefinedNumber) -> dict[str, Any]:
    """Return ``low``, ``high`` and ``no_interval``, why there is none, for records with all three."""
    if isinstance(found, UndefinedNumber):
        return {"low": None, "high": None, "no_interval": found.reason}
    return {"low": found.low, "high": found.high, "no_interval": None}


def interval(
    resampled: Vector,
    *,
    method: IntervalMethod,
    confidence: float,
    conversations: int,
    estimate: float | None,
    scale: Scale = "difference",
    jackknifed: Vector | None = None,
) -> Interval | UndefinedNumber:
    """
    Return the interval of one number from its *resampled* values, NaN left out.

    *conversations* is how many have a part in the number, *estimate*, which is None where there is none.
    Only t asks for the *scale*; BCa also needs *jackknifed*, the values with one conversation left out each.

    Raises:
        ValueError: *confidence* is not between 0 and 1, or BCa lacks *jackknifed*.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} is not between 0 and 1")
    if not len(resampled):
        return NO_RESAMPLES
    if conversations < 2:
        return FEW
    if estimate is None:
        return UndefinedNumber(reason="the score has no value over these turns")
    if method == "bca":
        if jackknifed is None:
            raise ValueError("BCa needs the jackknifed values")
        return bca_interval(resampled, estimate, jackknifed, confidence)
    known = resampled[~np.isnan(resampled)]
    if not len(known):
        return NOT_DRAWN
    if method == "percentile":
        tail = (1 - confidence) / 2
        low, high = np.quantile(known, [tail, 1 - tail])
        return _round_ends(low, high)
    found = t_ends(known, estimate, conversations=conversations, confidence=confidence, scale=scale)
    return found if isinstance(found, UndefinedNumber) else _round_ends(*found)


def _round_ends(low: float, high: float) -> Interval:
    # The last digits depend on how a matrix product was summed up.
    return Interval(low=float(f"{low:.12g}"), high=float(f"{high:.12g}"))


def bca_interval(
    resampled: Vector, estimate: float, jackknifed: Vector, confidence: float
) -> Interval | UndefinedNumber:
    """
    Return the BCa interval, or why there is none; NaN among *resampled* and *jackknifed* is left out.

    Undefined where all jackknifed values are equal (the acceleration is 0/0), where no resampled value
    lies on one side of the estimate (the bias correction is infinite), and where the acceleration turns
    the order of the ends around.
    """
    from scipy.special import ndtr, ndtri

    known = resampled[~np.isnan(resampled)]
    if not len(known):
        return NOT_DRAWN
    room = _TOLERANCE * max(1.0, abs(estimate))
    left_out = jackknifed[~np.isnan(jackknifed)]
    pulls = left_out.mean() - left_out if len(left_out) else left_out
    if len(pulls) < 2 or np.abs(pulls).max() <= room / len(pulls):
        return UndefinedNumber(reason="leaving out any one conversation changes nothing")
    acceleration = float((pulls**3).sum() / (6 * (pulls**2).sum() ** 1.5))
    below = float((known < estimate - room).mean())
    share = below + float((np.abs(known - estimate) <= room).mean()) / 2
    if not 0 < share < 1:
        return UndefinedNumber(reason="no resampled value lies on one side of the estimate")
    bias = float(ndtri(share))
    tail = (1 - confidence) / 2
    shifted = bias + ndtri(np.array([tail, 1 - tail]))
    stretch = 1 - acceleration * shifted
    if (stretch <= 0).any():
        return UndefinedNumber(reason="the acceleration is too large")
    low, high = np.quantile(known, ndtr(bias + shifted / stretch))
    return _round_ends(low, high)
