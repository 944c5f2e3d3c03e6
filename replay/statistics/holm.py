"""
Many tests at once: the more is looked at, the stricter.

With twenty comparisons of equal systems, one p-value below .05 is to be expected. Holm's step-down
procedure (Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
Statistics 6, 1979) keeps the chance of even one such false finding below the level, whatever the
comparisons have to do with each other, and never has less power than Bonferroni's.

Of a comparison, totals and depths are two families, each corrected for itself. A total is what most readers
ask for, and its p-value does not depend on whether the depths are shown beside it; so a text without
depths, one with them and a page say the same. The chance of even one false finding is below the level among
the totals, and once more among the depths.

scipy has no step-down procedure; statsmodels, which gives the same, takes 3 s to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from replay.statistics.comparison import ComparedRow, Comparison


def holm(p_values: Sequence[float]) -> list[float]:
    """*p_values*, in their order, each adjusted for all of them: in (0, 1], never below what it was."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    # The smallest is held against as many tests as there are, the next against one less, and so on.
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1)
    in_order: list[float] = adjusted.tolist()
    return in_order


def correct_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """
    *comparisons* corrected over all their totals, and over all their depths.

    A row that could not be tested has no p-value and doesn't count.
    """
    rows = [row for one in comparisons for row in one.rows]
    totals = _adjusted([row for row in rows if row.difference.depth is None])
    depths = _adjusted([row for row in rows if row.difference.depth is not None])

    def with_p(row: ComparedRow) -> ComparedRow:
        if row.test is None:
            return row
        return replace(row, adjusted_p=next(totals if row.difference.depth is None else depths))

    return [replace(one, rows=tuple(map(with_p, one.rows))) for one in comparisons]


def _adjusted(rows: Sequence[ComparedRow]) -> Iterator[float]:
    """The corrected p-values of those of *rows* that were tested."""
    return iter(holm([row.test.p for row in rows if row.test]))
