"""
Intervals of a share of independent cases: Wilson's.

For cases that stand on their own, such as passages or items of a file. The turns of one conversation
don't: their shares get a bootstrap over conversations.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from replay.statistics.interval import Interval
from replay.statistics.undefined import Undefined


def wilson_interval(cases: int, of: int, confidence: float = 0.95) -> Interval | Undefined:
    """
    The score interval of the share *cases* / *of*, within [0, 1] (Wilson, JASA 22, 1927).

        (p + z^2/2n +- z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n)

    Unlike p +- z sqrt(p (1 - p)/n) it has a width at 0 and 1 and keeps its coverage for small n (Brown,
    Cai & DasGupta, *Interval estimation for a binomial proportion*, Statistical Science 16, 2001).

    ``wilson_interval(8, 10)`` is [0.490, 0.943]. Undefined for no cases at all.

    Raises:
        ValueError: *cases* is not in [0, *of*], or *confidence* not between 0 and 1.
    """
    if not 0 <= cases <= of:
        raise ValueError(f"{cases} of {of} is not a share")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} is not between 0 and 1")
    if of == 0:
        return Undefined(reason="no cases")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = cases / of
    middle = share + z * z / (2 * of)
    reach = z * math.sqrt(share * (1 - share) / of + (z / (2 * of)) ** 2)
    scale = 1 + z * z / of
    return Interval(
        low=0.0 if cases == 0 else max(0.0, (middle - reach) / scale),
        high=1.0 if cases == of else min(1.0, (middle + reach) / scale),
    )
