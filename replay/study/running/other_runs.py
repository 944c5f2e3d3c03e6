"""
Scores of runs in which nobody judged a turn, held against what people said of talks with the same systems.

As in the published comparison (Li et al., 2022): there people talked about the passages that the policies had
replayed. What both have in common is a system and a conversation of the data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from replay.core.errors import InputError
from replay.core.record import TurnRecord
from replay.statistics.model_agreement import RankingAgreement, ranking_agreement
from replay.statistics.score_column import ScoreColumn
from replay.study.running.against_scores import Held, policies_of, usable
from replay.study.running.judged_turns import JudgedTurns, Scored
from replay.tables.agreement_study import StudySettings, agreement_study
from replay.tables.items import ItemSet, TableItem

Cells = Mapping[tuple[str, str], Sequence[float]]
"""By system and conversation of the data: the scores of their turns."""


def compare_with_run(judged: JudgedTurns, name: str, run: Scored, resamples: int, seed: int) -> list[Held]:
    """
    Each score of the *run* called *name*, under each of its policies, against each of people's.

    Systems are ranked by their means over the turns of conversations that both have.

    Raises:
        InputError: they have no system, or no conversation, in common.
    """
    records, columns = run
    by_people = {score: _cells(judged.records, column) for score, column in judged.columns.items()}
    met = {cell for cells in by_people.values() for cell in cells}
    shared = met & _cells_of(records)
    if not shared:
        theirs, ours = ({system for system, _ in cells} for cells in (met, _cells_of(records)))
        what = "system" if not theirs & ours else "conversation of one system"
        raise InputError(
            f'"{name}" has no {what} that people judged, too: they judged {", ".join(sorted(theirs))} in '
            f"conversations such as {min(passage for _, passage in met)}; replay the study's data against "
            "its systems, under their names"
        )
    settings = StudySettings(resamples=resamples, seed=seed)
    found = []
    for policy in policies_of(records):
        places = [place for place, record in enumerate(records) if record.policy == policy]
        played = [records[place] for place in places]
        cells = {label: _cells(played, one.at(places)) for label, one in usable(columns).items()}
        scores = _items(name, cells, shared)
        people = _items("people", by_people, shared)
        for score in by_people if scores.criteria else ():
            study = agreement_study(scores, people, against=score, settings=settings)
            found += [
                (
                    f"{policy} of {name}",
                    replace(one, ranking=_ranking(cells[one.score], by_people[score], shared)),
                )
                for one in study.agreements
                if one.scores
            ]
    return found


def _cells_of(records: Sequence[TurnRecord]) -> set[tuple[str, str]]:
    return {(one.system, one.recorded_conversation) for one in records}


def _cells(records: Sequence[TurnRecord], column: ScoreColumn) -> Cells:
    found: dict[tuple[str, str], list[float]] = {}
    for place, record in enumerate(records):
        if column.is_scored(place):
            cell = found.setdefault((record.system, record.recorded_conversation), [])
            cell.append(float(column.observed[place]))
    return found


def _items(source: str, scores: Mapping[str, Cells], shared: Collection[tuple[str, str]]) -> ItemSet:
    """One item for each of *shared*, with the mean of each score."""
    return ItemSet(
        source=source,
        format="run",
        items=tuple(
            TableItem(
                keys={"system": cell[0], "conversation": cell[1]},
                ratings={name: (fmean(cells[cell]),) for name, cells in scores.items() if cell in cells},
                group=cell[1],
            )
            for cell in sorted(shared)
        ),
    )


def _ranking(
    by_score: Cells, by_people: Cells, shared: Collection[tuple[str, str]]
) -> RankingAgreement | None:
    """Of systems by their means over turns."""
    means: list[dict[str, float]] = []
    for cells in (by_score, by_people):
        values: dict[str, list[float]] = {}
        for cell in sorted(shared):
            values.setdefault(cell[0], []).extend(cells.get(cell, ()))
        means.append({system: fmean(found) for system, found in values.items() if found})
    systems = means[0].keys() & means[1].keys()
    return ranking_agreement(*means) if len(systems) > 1 else None
