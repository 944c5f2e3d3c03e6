"""
Which turn depths an assertion is about, as a scenario writes it: ``3``, ``">=3"``, ``"<=2"``, ``"2-5"``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths from *first* to *last*, both included."""

    first: int = 1
    last: int | None = None
    """None where there is no end."""

    def __contains__(self, depth: int) -> bool:
        return self.first <= depth and (self.last is None or depth <= self.last)

    def __str__(self) -> str:
        if self.last is None:
            return f"depth >={self.first}" if self.first > 1 else "all depths"
        if self.first == self.last:
            return f"depth {self.first}"
        return f"depth {self.first}-{self.last}"


ALL_DEPTHS = DepthRange()


def read_depths(value: Any) -> DepthRange:
    """
    Return the range that *value* means, such as ``3``, ``">=3"`` or ``"2-5"``; a range as it is.

    Raises:
        ValueError: it means none, or no depth lies in it.
    """
    if isinstance(value, DepthRange):
        return value
    text = "" if isinstance(value, bool) else str(value).replace(" ", "")
    found = re.fullmatch(r"(>=|<=|>|<|=|)([0-9]{1,9})", text)
    between = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if found:
        sign, number = found[1], int(found[2])
        first, last = {
            ">=": (number, None),
            ">": (number + 1, None),
            "<=": (1, number),
            "<": (1, number - 1),
        }.get(sign, (number, number))
    elif between:
        first, last = int(between[1]), int(between[2])
    else:
        raise ValueError(f'{value!r} is no depth; write 3, ">=3", "<=2" or "2-5"')
    if first < 1 or (last is not None and last < first):
        raise ValueError(f"{value!r} holds no depth; 1 is a conversation's first turn")
    return DepthRange(first, last)
