"""
A scorer and what it observed, turn by turn: one column of a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.record import TurnRecord
from replay.scorers.scorer import MeanScorer, Scorer, Unscored, unit_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """One score of many turns."""

    scorer: Scorer[Any]
    observed: Sequence[Any]
    """The scorer's observation, or ``Unscored``, for each of the records that the column goes with."""

    @property
    def unit(self) -> str:
        """What the score counts in: ``share``, ``s``, ``tokens``, ... or nothing."""
        return unit_of(self.scorer)

    @property
    def is_mean(self) -> bool:
        """Whether the score of many turns is the mean of theirs."""
        return isinstance(self.scorer, MeanScorer) and self.scorer.is_mean

    def is_scored(self, index: int) -> bool:
        """Whether the record at *index* has a score."""
        return not isinstance(self.observed[index], Unscored)

    def value(self, indices: Sequence[int]) -> float | None:
        """
        The score of the records at *indices*, which all have an observation.

        None if there are none, or the score isn't defined over them.
        """
        if not indices:
            return None
        value = float(self.scorer.combine([self.observed[i] for i in indices]))
        return None if math.isnan(value) else value


def score_columns(
    records: Sequence[TurnRecord], scorers: Mapping[str, Scorer[Any]]
) -> dict[str, ScoreColumn]:
    """What each of *scorers* observes in *records*, by the scorer's name."""
    return {
        name: ScoreColumn(scorer=scorer, observed=tuple(scorer.observe(records)))
        for name, scorer in scorers.items()
    }


TurnKey = tuple[str, str, str, int]
"""System, policy, conversation, depth."""


def align_scores(
    records: Sequence[TurnRecord], scorer: Scorer[Any], observed: Mapping[TurnKey, Any]
) -> ScoreColumn:
    """
    Observations that were kept by turn, as a column over *records*.

    A turn that *observed* lacks is unscored with the reason ``not scored yet``.
    """
    missing = Unscored(reason="not scored yet")
    keys = ((r.system, r.policy, r.conversation, r.depth) for r in records)
    return ScoreColumn(scorer=scorer, observed=tuple(observed.get(key, missing) for key in keys))


def check_columns(records: Sequence[TurnRecord], scores: Mapping[str, ScoreColumn]) -> None:
    """
    Make sure that *scores* belong to *records*.

    Raises:
        ValueError: a column has more or fewer observations than there are records, or one turn of
            one system under one policy is recorded twice.
    """
    for name, column in scores.items():
        if len(column.observed) != len(records):
            raise ValueError(f'score "{name}" has {len(column.observed)} values for {len(records)} turns')
    seen = set[TurnKey]()
    for record in records:
        key = (record.system, record.policy, record.conversation, record.depth)
        if key in seen:
            raise ValueError(
                f'turn {record.depth} of conversation "{record.conversation}" is recorded twice for '
                f'system "{record.system}", policy "{record.policy}"'
            )
        seen.add(key)
