"""What people said of a run's turns, where the run comes out of a study: kept as columns of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from replay.core.errors import RunError
from replay.core.record import TurnRecord
from replay.results.scoring import stored_score
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.people import HumanScores, read_people
from replay.statistics.score_column import ScoreColumn
from replay.store.store import RunStore

PEOPLE = "people"
"""The fact of a run that holds its study's ``HumanScores``."""

BY_PEOPLE = "people"
"""The fact ``ask`` of a run in which people asked what they liked, each conversation one system."""


def people_of(store: RunStore) -> HumanScores | None:
    """
    Return the numbers of the study that the run in *store* was exported from; None if it was from none.

    Raises:
        RunError: they can't be read.
    """
    fact = store.fact(PEOPLE)
    try:
        return None if fact is None else read_people(fact)
    except msgspec.ValidationError as error:
        raise RunError(f'what "{store.path}" says of people can\'t be read: {error}') from error


def people_scores(store: RunStore) -> dict[str, StoredScorer]:
    """Return a scorer for each score by people, by name; scoring a run again does not change these."""
    people = people_of(store)
    return {
        name: StoredScorer(signature=one.signature, unit=one.unit, lower_is_better=False)
        for name, one in (people.scores.items() if people else ())
        if one.by_people
    }


def keep_people(
    store: RunStore, people: HumanScores, records: Sequence[TurnRecord], columns: Mapping[str, ScoreColumn]
) -> None:
    """Keep *people* in the run, with people's *columns* over *records*, in the place of earlier ones."""
    store.begin_staging()
    for name, column in columns.items():
        store.add_scores(
            name, [stored_score(*one) for one in zip(records, column.observed, strict=True)], anew=True
        )
    signatures = {name: column.scorer.signature for name, column in columns.items()}
    store.publish_staged(columns, facts={PEOPLE: people.to_json()}, event=("scored", signatures))
