"""
When conversations arrive in an open run: seconds since the start, never decreasing.

An open run's arrivals don't wait for the system: users keep coming while it slows down. Schroeder,
Wierman & Harchol-Balter, *Open Versus Closed: A Cautionary Tale* (NSDI 2006), show how much the two
differ.

Times are computed from the number of the arrival wherever that can be done, so that no error adds up
over a long run.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from itertools import count, islice


def constant_arrivals(rate_per_s: float) -> Iterator[float]:
    """
    0, 1 / rate, 2 / rate, ... without end.

    Raises:
        ValueError: the rate is not a positive number.
    """
    _check_rate(rate_per_s)
    return (number / rate_per_s for number in count())


def poisson_arrivals(rate_per_s: float, rng: random.Random) -> Iterator[float]:
    """
    A Poisson process without end: independent users who know nothing of each other.

    The gaps, the one before the first arrival too, are independent and exponential with mean
    1 / rate (Kingman, *Poisson Processes*, 1993, section 4.1); so the number of arrivals in any
    window of w seconds is Poisson distributed with mean and variance rate * w.

    Raises:
        ValueError: the rate is not a positive number.
    """
    _check_rate(rate_per_s)
    return _poisson(rate_per_s, rng)


def _poisson(rate_per_s: float, rng: random.Random) -> Iterator[float]:
    now = 0.0
    while True:
        now += rng.expovariate(rate_per_s)
        yield now


def trace_arrivals(at_s: Iterable[float], speed: float = 1.0) -> Iterator[float]:
    """
    The recorded times *at_s*, *speed* times as fast; ends with them.

    Raises:
        ValueError: the speed is not a positive number, or (once it is reached) a time is negative or
            before the one that precedes it.
    """
    if not (math.isfinite(speed) and speed > 0):
        raise ValueError(f"the speed is {speed:g}, expected a positive number")
    return _trace(at_s, speed)


def _trace(at_s: Iterable[float], speed: float) -> Iterator[float]:
    previous = 0.0
    for number, at in enumerate(at_s, 1):
        if not (math.isfinite(at) and at >= previous):
            raise ValueError(f"arrival {number} is at {at:g} s, after {previous:g} s; times never go back")
        previous = at
        yield at / speed


def ramped(arrivals: Iterable[float], ramp_s: float) -> Iterator[float]:
    """
    *arrivals* of a process at its full rate, with the rate rising linearly from 0 in the first
    *ramp_s* seconds.

    With R the full rate, L(t) = R t^2 / (2 ramp) arrivals are due by t within the ramp and
    R (t - ramp / 2) after it. An arrival that was to come at s, when R s were due, comes at the t with
    L(t) = R s: t = sqrt(2 ramp s) up to s = ramp / 2, and s + ramp / 2 from there. Constant arrivals
    keep their even spacing in L; a Poisson process becomes the Poisson process with the rising rate
    (inversion of the cumulative rate: Cinlar, *Introduction to Stochastic Processes*, 1975, section
    4.7; known as time rescaling).

    Raises:
        ValueError: the ramp is negative or no number.
    """
    if not (math.isfinite(ramp_s) and ramp_s >= 0):
        raise ValueError(f"the ramp is {ramp_s:g} s, expected 0 or more")
    half = ramp_s / 2
    return (math.sqrt(2 * ramp_s * at) if at < half else at + half for at in arrivals)


def share(arrivals: Iterable[float], index: int, workers: int) -> Iterator[tuple[int, float]]:
    """
    The arrivals that worker *index* (from 0) of *workers* has to play, with their numbers from 0.

    Every worker makes the same arrivals from the same seed and takes every *workers*-th of them, so
    that all shares together are the whole sequence, exactly.

    Raises:
        ValueError: there is no such worker.
    """
    if not 0 <= index < workers:
        raise ValueError(f"there is no worker {index} of {workers}; they count from 0")
    return islice(enumerate(arrivals), index, None, workers)


def _check_rate(rate_per_s: float) -> None:
    if not (math.isfinite(rate_per_s) and rate_per_s > 0):
        raise ValueError(f"the rate is {rate_per_s:g} per second, expected a positive number")
