"""A run's verdicts, read again as columns of scores."""

from __future__ import annotations

import msgspec

from replay.core.decoding import converted
from replay.core.errors import RunError
from replay.scorers.judges.tally import Judged
from replay.scorers.scorer import COSTS
from replay.scorers.stored_scorer import StoredScorer
from replay.store.store import RunStore

JUDGED = "judged"
"""The fact of a run that holds a ``Judged`` for each judge."""


def judged_of(store: RunStore) -> list[Judged]:
    """
    What *store* keeps of its judges, in order.

    Raises:
        RunError: it can't be read.
    """
    try:
        return converted(store.fact(JUDGED) or [], list[Judged])
    except msgspec.ValidationError as error:
        raise RunError(f'what "{store.path}" says of its judges can\'t be read: {error}') from error


def verdict_scores(store: RunStore) -> dict[str, StoredScorer]:
    """The judges' columns as scorers, by the column's name; what they give was had by asking."""
    return {
        column: StoredScorer(signature=one.signature, unit=unit, lower_is_better=unit in COSTS)
        for one in judged_of(store)
        for column, unit in one.units.items()
    }
