"""Records and scores of conversations that were played several times."""

from __future__ import annotations

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.score_column import ScoreColumn

FAILED = None
"""In the place of a score: the ask failed, so there is a record and no score."""


def record(conversation, depth, repeat, *, failed=False) -> TurnRecord:
    return TurnRecord(
        system="s",
        policy="pred",
        conversation=conversation if repeat == 1 else f"{conversation}~{repeat}",
        source=None if repeat == 1 else conversation,
        repeat=repeat,
        depth=depth,
        turn=str(depth),
        recorded="?",
        asked="?",
        edit="kept",
        drift=None,
        outcome="timed-out" if failed else "answered",
        answer=None if failed else "so",
    )


def column(values, *, unit=SHARE, lower_is_better=False) -> ScoreColumn:
    scorer = StoredScorer(signature="check", unit=unit, lower_is_better=lower_is_better)
    observed = [Unscored(reason="failed") if value is FAILED else value for value in values]
    return ScoreColumn(scorer=scorer, observed=observed)


def played(*conversations):
    """Records and a column: of each conversation its plays, each a list of what its turns came to."""
    records, values = [], []
    for number, plays in enumerate(conversations):
        for repeat, turns in enumerate(plays, 1):
            for depth, value in enumerate(turns, 1):
                records.append(record(f"c{number}", depth, repeat, failed=value is FAILED))
                values.append(value)
    return records, {"check": column(values)}
