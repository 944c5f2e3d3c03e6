"""
From resampled values to a confidence interval: t, percentile or BCa.

``t``, the one that is used unless another is asked for, is made for few conversations: see
``t_interval.py``.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from replay.statistics.bootstrap import percentile_interval
from replay.statistics.t_interval import Scale, t_ends
from replay.statistics.undefined import UndefinedNumber

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
    """``low``, ``high`` and ``no_interval``, why there is none, for records that hold all three."""
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
    The interval of one number from its *resampled* values, NaN left out.

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
    if method == "percentile":
        ends = percentile_interval(resampled, confidence)
        return Interval(low=ends[0], high=ends[1]) if ends else NOT_DRAWN
    known = resampled[~np.isnan(resampled)]
    if not len(known):
        return NOT_DRAWN
    found = t_ends(known, estimate, conversations=conversations, confidence=confidence, scale=scale)
    if isinstance(found, UndefinedNumber):
        return found
    return Interval(low=float(f"{found[0]:.12g}"), high=float(f"{found[1]:.12g}"))


def bca_interval(
    resampled: Vector, estimate: float, jackknifed: Vector, confidence: float
) -> Interval | UndefinedNumber:
    """
    The BCa interval, or why there is none; NaN among *resampled* and *jackknifed* is left out.

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
    return Interval(low=float(f"{low:.12g}"), high=float(f"{high:.12g}"))
