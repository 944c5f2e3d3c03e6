"""
Many comparisons at once: Holm's correction.

With twenty comparisons of equal systems, one p-value below .05 is to be expected. Holm's step-down
procedure (Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
Statistics 6, 1979) keeps the chance of even one such false finding below the level, whatever the
comparisons have to do with each other, and never has less power than Bonferroni's.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """
    The adjusted p-values, in [0, 1] and in the order given: the largest of (m - i + 1) p_(i) so far.

    None, a comparison that could not be made, stays None and doesn't count among the m.

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    for p, _ in known:
        if not 0 <= p <= 1:
            raise ValueError(f"{p} is not a p-value")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(sorted(known)):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted
