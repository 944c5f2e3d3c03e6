"""
When conversations arrive in an open run: seconds since the start, never decreasing, without end.

An open run's arrivals don't wait for the system: users keep coming while it slows down. Schroeder,
Wierman & Harchol-Balter, *Open Versus Closed: A Cautionary Tale* (NSDI 2006), show how much the two
differ.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from itertools import count


def constant_arrivals(rate_per_s: float) -> Iterator[float]:
    """Yield 0, 1 / rate, 2 / rate, ..., each computed from its number so that no error adds up."""
    return (number / rate_per_s for number in count())


def poisson_arrivals(rate_per_s: float, rng: random.Random) -> Iterator[float]:
    """
    Yield the times of a Poisson process: independent users who know nothing of each other.

    The gaps, the one before the first arrival too, are independent and exponential with mean
    1 / rate (Kingman, *Poisson Processes*, 1993, section 4.1); so the number of arrivals in any
    window of w seconds is Poisson distributed with mean and variance rate * w.
    """
    now = 0.0
    while True:
        now += rng.expovariate(rate_per_s)
        yield now


def ramp_up(arrivals: Iterable[float], ramp_s: float) -> Iterator[float]:
    """
    Return *arrivals* delayed so that their rate rises linearly from 0 within *ramp_s* seconds.

    With R the full rate, L(t) = R t^2 / (2 ramp) arrivals are due by t within the ramp and
    R (t - ramp / 2) after it. An arrival that was to come at s, when R s were due, comes at the t with
    L(t) = R s: t = sqrt(2 ramp s) up to s = ramp / 2, and s + ramp / 2 from there. Constant arrivals
    keep their even spacing in L; a Poisson process becomes the Poisson process with the rising rate
    (inversion of the cumulative rate: Cinlar, *Introduction to Stochastic Processes*, 1975, section
    4.7; known as time rescaling).
    """
    half = ramp_s / 2
    return (math.sqrt(2 * ramp_s * at) if at < half else at + half for at in arrivals)
