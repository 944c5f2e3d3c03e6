"""What a run's judges judge, and their verdicts read again as columns of scores."""

from __future__ import annotations

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import RunError
from replay.scorers.judges.judge import Case, HistoryShown, Level
from replay.scorers.judges.judging import cases
from replay.scorers.judges.tally import JudgeSummary
from replay.scorers.scorer import COSTS
from replay.scorers.stored_scorer import StoredScorer
from replay.store.store import RunStore

JUDGED = "judged"
"""The fact of a run that holds a ``JudgeSummary`` for each judge."""


def judged_of(store: RunStore) -> list[JudgeSummary]:
    """
    What *store* keeps of its judges, in order.

    Raises:
        RunError: it can't be read.
    """
    try:
        return convert_to(store.fact(JUDGED) or [], list[JudgeSummary])
    except msgspec.ValidationError as error:
        raise RunError(f'what "{store.path}" says of its judges can\'t be read: {error}') from error


def verdict_scores(store: RunStore) -> dict[str, StoredScorer]:
    """The judges' columns as scorers, by the column's name; what they give was had by asking."""
    return {
        column: StoredScorer(signature=one.signature, unit=unit, lower_is_better=unit in COSTS)
        for one in judged_of(store)
        for column, unit in one.units.items()
    }


def turn_cases(store: RunStore, level: Level = "turn") -> list[Case]:
    """The run's turns (or whole conversations), each with what its system was shown before it."""
    histories: dict[str, dict[str, HistoryShown]] = store.fact("histories") or {}
    conversations = {one.id: one for one in store.conversations()}
    return cases(level, store.records(), conversations, histories)
