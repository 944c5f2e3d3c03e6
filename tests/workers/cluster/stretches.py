"""How many asks came within a time."""

from __future__ import annotations


def most_within(sent_s, per_s=1.0):
    """Of moments in order, how many are in one stretch of that length at most."""
    first, most = 0, 0
    for last, at_s in enumerate(sent_s):
        while at_s - sent_s[first] >= per_s:
            first += 1
        most = max(most, last - first + 1)
    return most
