"""
Many tests at once: the more is looked at, the stricter.

With twenty comparisons of equal systems, one p-value below .05 is to be expected. Holm's step-down
procedure (Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
Statistics 6, 1979) keeps the chance of even one such false finding below the level, whatever the
comparisons have to do with each other, and never has less power than Bonferroni's.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """*p_values*, in their order, each adjusted for all of them: in (0, 1], never below what it was."""
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

    adjusted: list[float] = multipletests(p_values, method="holm")[1].tolist()
    return adjusted
