"""A row of bars as tall as the numbers they stand for, one character each."""

from __future__ import annotations

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
MOST = 24
"""Bars at most; of longer rows, neighbours share one."""


def sparkline(values: Sequence[float | None], *, low: float, high: float) -> str:
    """
    A bar for each of *values*, from the lowest at *low* to the highest at *high*; a space for None.

    What lies beyond is drawn as the end it passed. Where *low* is *high*, all bars are half as tall.
    Of more than 24 values, as few neighbours as necessary share a bar, which is their mean.
    """
    together = max(1, math.ceil(len(values) / MOST))
    return "".join(
        _bar([value for value in values[start : start + together] if value is not None], low, high)
        for start in range(0, len(values), together)
    )


def _bar(values: Sequence[float], low: float, high: float) -> str:
    if not values:
        return " "
    if high <= low:
        return BARS[len(BARS) // 2 - 1]
    share = (sum(values) / len(values) - low) / (high - low)
    return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]


def can_show_bars(encoding: str) -> bool:
    """Return whether a terminal of *encoding* has the characters."""
    try:
        BARS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
