"""
Two learned judgements, each a small network in numpy: does a mention mean something else in another history
(``DRIFT``), and does an edit make a question better (``EDIT``).

Both were fitted by ``replay.coreference.training.train``. Imports numpy, so that it is imported only when a
judgement is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DRIFT = "drift.npz"
EDIT = "edit.npz"
FURTHEST = 4.0
"""Numbers further from their mean than this many standard deviations count as this far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallNetwork:
    """Networks with one hidden layer side by side, whose outputs are averaged."""

    mean: Array
    """(numbers,): of each number that is seen."""
    spread: Array
    """(numbers,): their standard deviations."""
    hidden: Array
    """(numbers, networks x width)."""
    hidden_bias: Array
    """(networks x width,)."""
    out: Array
    """(networks x width,)."""
    out_bias: Array
    """(1,)."""
    thresholds: Array
    """Ascending probabilities to draw the line at."""
    precisions: Array
    """The precision of "yes" from each threshold on, on questions that were not learned from."""

    def probabilities(self, seen: Sequence[Sequence[float]]) -> list[float]:
        """One in (0, 1) for each row of numbers."""
        rows = np.clip((np.asarray(seen, np.float64) - self.mean) / self.spread, -FURTHEST, FURTHEST)
        scores = np.maximum(rows @ self.hidden + self.hidden_bias, 0) @ self.out + self.out_bias
        probabilities: list[float] = (1 / (1 + np.exp(-scores))).tolist()
        return probabilities

    def threshold_for(self, precision: float) -> float:
        """The lowest threshold from which on at least *precision* held; the highest where none did."""
        reached = (self.precisions >= precision).tolist()
        place = reached.index(True) if True in reached else len(reached) - 1
        return float(self.thresholds[place])


PARAMETERS = tuple(field.name for field in fields(SmallNetwork))


@cache
def shipped(name: str) -> SmallNetwork:
    """The network ``DRIFT`` or ``EDIT``, as it comes with the program; loaded once in a process."""
    with resources.files(__package__).joinpath(name).open("rb") as file:
        return unpacked(np.load(file, allow_pickle=False))


def unpacked(arrays: Mapping[str, npt.NDArray[Any]]) -> SmallNetwork:
    """The network that is stored as one array for each of ``PARAMETERS``."""
    return SmallNetwork(**{name: arrays[name].astype(np.float64) for name in PARAMETERS})


def probability_of_any(rows: Sequence[float]) -> float:
    """That "yes" is right for at least one row, the rows being taken as independent."""
    no = 1.0
    for probability in rows:
        no *= 1 - probability
    return 1 - no
