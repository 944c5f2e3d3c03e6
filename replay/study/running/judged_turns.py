"""The turns that people judged, with a column for each of their scores and of automatic ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import msgspec

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.rater_agreement import Rating
from replay.statistics.score_column import ScoreColumn
from replay.study.results import JudgedTurnKey, Origin, Results

NOT_JUDGED = "nobody judged it"
NO_VERDICT = "whoever judged it could not tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTurns:
    """The turns that people judged, with a column for each of their scores."""

    records: Sequence[TurnRecord]
    columns: Mapping[str, ScoreColumn]
    ratings: Mapping[str, Mapping[JudgedTurnKey, Mapping[str, Rating]]]
    """By score and turn: each rater's."""


def key_of(record: TurnRecord) -> JudgedTurnKey:
    return JudgedTurnKey(record.system, record.policy, record.conversation, record.depth)


def judged_turns(results: Results) -> JudgedTurns:
    """Return the turns in *results* that anybody scored, with a column for each score by people."""
    ratings: dict[str, dict[JudgedTurnKey, dict[str, Rating]]] = {}
    for score in results.scores:
        ratings.setdefault(score.name, {}).setdefault(score.turn, {})[score.rater] = score.value
    keys = {key for by_turn in ratings.values() for key in by_turn}
    records = [record for record in results.records if key_of(record) in keys]
    columns = {}
    for name, by_turn in ratings.items():
        values = [rating for given in by_turn.values() for rating in given.values() if rating is not None]
        share = all(isinstance(value, float | int) and 0 <= value <= 1 for value in values)
        columns[name] = ScoreColumn(
            scorer=StoredScorer(
                signature=f"people:{len({rater for given in by_turn.values() for rater in given})}|mean",
                unit=results.units.get(name, SHARE if share else ""),
                lower_is_better=False,
            ),
            observed=[_mean(by_turn.get(key_of(record))) for record in records],
        )
    return JudgedTurns(records=records, columns=columns, ratings=ratings)


def _mean(given: Mapping[str, Rating] | None) -> float | Unscored:
    if given is None:
        return Unscored(reason=NOT_JUDGED)
    known = [float(rating) for rating in given.values() if rating is not None]
    return fmean(known) if known else Unscored(reason=NO_VERDICT)


Scored = tuple[Sequence[TurnRecord], Mapping[str, ScoreColumn]]
"""What ``Run.scored`` gives."""


def renamed(run: str, played: Scored, origins: Mapping[tuple[str, str], Origin]) -> Scored:
    """Return *played*, the turns of *run*, with the names that the study gives to its systems."""
    names = {(one.system, policy): name for (name, policy), one in origins.items() if one.run == run}
    records, columns = played
    return [
        msgspec.structs.replace(one, system=names.get((one.system, one.policy), one.system))
        for one in records
    ], columns


def automatic_columns(records: Sequence[TurnRecord], runs: Iterable[Scored]) -> dict[str, ScoreColumn]:
    """
    Return the scores of *runs* for *records*, a column per scorer, by name.

    Systems are called as in *records*. If two runs have different scorers of one name, the later one has its
    signature appended.

    Args:
        records: The turns that the columns are about, in order.
        runs: Records and score columns of each run.
    """
    found: dict[str, ScoreColumn] = {}
    places = {key_of(record): place for place, record in enumerate(records)}
    for played, columns in runs:
        met = [(places.get(key_of(record)), number) for number, record in enumerate(played)]
        known = [(place, number) for place, number in met if place is not None]
        for label, column in columns.items() if known else ():
            other = found.get(label)
            same = other is None or other.scorer.signature == column.scorer.signature
            name = label if same else f"{label} ({column.scorer.signature})"
            nothing = [Unscored(reason="its run was not scored with this")] * len(records)
            observed = list(found[name].observed) if name in found else list[Any](nothing)
            for place, number in known:
                observed[place] = column.observed[number]
            found[name] = ScoreColumn(scorer=column.scorer, observed=observed)
    return found
