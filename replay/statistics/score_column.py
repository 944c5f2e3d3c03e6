"""
A scorer and what it observed, turn by turn: one column of a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from replay.core.record import TurnRecord
from replay.scorers.observing import combine, observe
from replay.scorers.scorer import CorpusScorer, MeanScorer, Scorer, Unscored, lower_is_better, unit_of
from replay.scorers.stored_scorer import check_observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART = 5_000
"""Records that are observed together, at least, unless fewer are left."""

Positions: TypeAlias = "Sequence[int] | NDArray[np.integer[Any]]"
"""Of records in their sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """One score of many turns."""

    scorer: Scorer[Any]
    observed: Sequence[Any]
    """The scorer's observation, or ``Unscored``, for each of the records that the column goes with."""

    @property
    def unit(self) -> str:
        """Return the unit of the score: ``share``, ``s``, ``tokens``, ... or nothing."""
        return unit_of(self.scorer)

    @property
    def lower_is_better(self) -> bool:
        """Return whether less is better, as of latencies."""
        return lower_is_better(self.scorer)

    @property
    def is_mean(self) -> bool:
        """Return whether the score of many turns is the mean of theirs."""
        return isinstance(self.scorer, MeanScorer) and self.scorer.is_mean

    def is_scored(self, index: int) -> bool:
        """Return whether the record at *index* has a score."""
        return not isinstance(self.observed[index], Unscored)

    def at(self, indices: Iterable[int]) -> Self:
        """Return the column over the records at *indices* only."""
        return replace(self, observed=[self.observed[index] for index in indices])

    def value(self, indices: Positions) -> float | None:
        """
        Return the score of the records at *indices*, which all have an observation.

        None if there are none, or the score isn't defined over them.
        """
        if not len(indices):
            return None
        value = combine(self.scorer, [self.observed[i] for i in indices])
        return None if math.isnan(value) else value


def score_columns(
    records: Sequence[TurnRecord], scorers: Mapping[str, Scorer[Any]]
) -> dict[str, ScoreColumn]:
    """Return the column of observations of each of *scorers* in *records*, by the scorer's name."""
    return {
        name: ScoreColumn(scorer=scorer, observed=tuple(observe(name, scorer, records)))
        for name, scorer in scorers.items()
    }


def stored_column(
    scorer: Scorer[Any], turns: int, stored: Iterable[tuple[int, Any, str | None]]
) -> ScoreColumn:
    """
    Return the column of *scorer* from stored observations.

    Args:
        scorer: The scorer that made them.
        turns: The number of turns. One that *stored* lacks is unscored: ``not scored yet``.
        stored: (turn's index, observation, reason for none).

    Raises:
        RunError: an observation is none of this scorer's.
    """
    observed: list[Any] = [Unscored(reason="not scored yet")] * turns
    reasons: dict[str, Unscored] = {}  # one object for all turns: a load run has a million
    for position, value, reason in stored:
        if reason is not None:
            observed[position] = reasons.setdefault(reason, Unscored(reason=reason))
        else:
            observed[position] = check_observation(scorer, value)
    return ScoreColumn(scorer=scorer, observed=observed)


def survey_scorers(
    scorers: Mapping[str, Scorer[Any]], read: Callable[[], Iterator[TurnRecord]]
) -> dict[str, Scorer[Any]]:
    """Return *scorers*, those that have to see every record first having seen all that *read* gives."""
    found = dict(scorers)
    if any(isinstance(scorer, CorpusScorer) for scorer in found.values()):
        for records in in_parts(read()):
            for label, scorer in found.items():
                found[label] = scorer.surveyed(records) if isinstance(scorer, CorpusScorer) else scorer
    return found


def in_parts(records: Iterable[TurnRecord], least: int | None = None) -> Iterator[list[TurnRecord]]:
    """Yield at *least* so many records (or ``PART``) at a time, a play's records together."""
    least = least or PART
    part: list[TurnRecord] = []
    for _, played in groupby(records, lambda record: (record.conversation, record.system, record.policy)):
        part += played
        if len(part) >= least:
            yield part
            part = []
    if part:
        yield part


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
    seen = set()
    for record in records:
        key = (record.system, record.policy, record.conversation, record.depth)
        if key in seen:
            raise ValueError(
                f'turn {record.depth} of conversation "{record.conversation}" is recorded twice for '
                f'system "{record.system}", policy "{record.policy}"'
            )
        seen.add(key)
