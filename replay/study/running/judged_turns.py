"""
The turns that people judged, a column for each of their scores, and how far automatic scores and people
agree.

They are compared turn by turn, in the order of systems, and passage by passage. Scores of runs in which
nobody judged a turn are compared with what people said of talks with the same systems. As in the published
comparison (Li et al., 2022): there people talked about the passages that the policies had replayed. What both
have in common is a system and a conversation of the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeAlias

import msgspec

from replay.core.errors import InputError
from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.group import group_of, groups_in_order
from replay.statistics.interval import UndefinedNumber, value_or_none
from replay.statistics.model_agreement import RankingAgreement, ranking_agreement
from replay.statistics.people import HumanNumber, HumanTable, number_text
from replay.statistics.rater_agreement import Rating
from replay.statistics.score_column import ScoreColumn
from replay.study.preset import JudgedTurnKey, Origin, Results
from replay.tables.agreement_study import ScoreAgreement, StudySettings, agreement_study
from replay.tables.items import ItemSet, TableItem, run_items

EVERY = "all"
"""In the place of a policy: the turns of all policies together."""

Held: TypeAlias = tuple[str, ScoreAgreement]
"""One score against one of people's, with the policy that it is about."""


def compare_with_scores(
    judged: JudgedTurns, automatic: Mapping[str, ScoreColumn], resamples: int, seed: int
) -> list[Held]:
    """
    Return each automatic score against each of people's: over all turns, and under each of several policies.

    Less is better in some scores, which give no order of systems that people's could be like.
    """
    ranking = usable(automatic)
    policies = policies_of(judged.records)
    settings = StudySettings(resamples=resamples, seed=seed)
    found = []
    for policy in (EVERY, *(policies if len(policies) > 1 else ())):
        records = [record for record in judged.records if policy in (EVERY, record.policy)]
        places = [place for place, record in enumerate(judged.records) if policy in (EVERY, record.policy)]
        columns = {name: column.at(places) for name, column in ranking.items()}
        scores = run_items("scores", records, columns)
        people = run_items("people", records, {n: c.at(places) for n, c in judged.columns.items()})
        for name in judged.columns if ranking and records else ():
            study = agreement_study(scores, people, against=name, settings=settings)
            found += [(policy, one) for one in study.agreements if one.scores]
    return found


def usable(columns: Mapping[str, ScoreColumn]) -> dict[str, ScoreColumn]:
    """Return the *columns* that can rank systems as people do: means of which more is better."""
    return {name: one for name, one in columns.items() if one.is_mean and not one.lower_is_better}


def policies_of(records: Sequence[TurnRecord]) -> list[str]:
    """Return the policies of *records*, in the order of tables."""
    return list(dict.fromkeys(group.policy for group in groups_in_order(map(group_of, records))))


def against_tables(held: Sequence[Held], *, item: str = "turn", where: str = "") -> list[HumanTable]:
    """Return tables of *held*, *item* by item; *where* stands behind their titles."""
    ranked = [(policy, one, one.ranking) for policy, one in held if one.ranking]
    paired = [(policy, one, pair) for policy, one in held for pair in one.pairwise]
    names = ("people", "score", "policy")
    tables = []
    if held:
        tables.append(
            HumanTable(
                title=f"People and scores, {item} by {item}{where}",
                columns=(*names, f"{item}s", "Pearson", "Spearman", "Kendall"),
                rows=[
                    (
                        *(one.criterion, one.score, policy, len(one.scores)),
                        *(number_text(found) for found in one.correlations.values()),
                    )
                    for policy, one in held
                ],
                caption="Correlations; intervals resample conversations.",
            )
        )
    if ranked:
        tables.append(
            HumanTable(
                title=f"Systems as people and as scores rank them{where}",
                columns=(*names, "by people", "by score", "same", "pairs", "agreeing", "Kendall"),
                rows=[
                    (
                        *(one.criterion, one.score, policy),
                        *(_order(ranking.by_humans), _order(ranking.by_metric)),
                        "yes" if ranking.same else "no",
                        *(ranking.pairs, ranking.agreeing, _human_number(ranking.kendall)),
                    )
                    for policy, one, ranking in ranked
                ],
                caption="Best first. Pairs are those that people tell apart, agreeing those that the "
                "score puts in the same order.",
            )
        )
    if paired:
        tables.append(
            HumanTable(
                title=f"Pairs of systems, conversation by conversation{where}",
                columns=(*names, "first", "second", "conversations", "told apart", "same better one"),
                rows=[
                    (
                        *(one.criterion, one.score, policy, pair.first, pair.second, pair.passages),
                        pair.passages - pair.human_ties,
                        HumanNumber(
                            **{key: pair.to_json()[key] for key in ("low", "high")}, **_share(pair.share)
                        ),
                    )
                    for policy, one, pair in paired
                ],
                caption="The share of conversations on which the score names the same better system, of "
                "those on which people tell the two apart; with Wilson's interval.",
            )
        )
    return tables


def _order(places: Sequence[Sequence[str]]) -> str:
    return " > ".join(" = ".join(place) for place in places)


def _human_number(value: float | UndefinedNumber) -> HumanNumber:
    return HumanNumber(
        value=value_or_none(value), note=value.reason if isinstance(value, UndefinedNumber) else ""
    )


def _share(value: float | UndefinedNumber) -> dict[str, Any]:
    return {"value": value_or_none(value), "unit": SHARE, "note": _human_number(value).note}


Cells = Mapping[tuple[str, str], Sequence[float]]
"""By system and conversation of the data: the scores of their turns."""


def compare_with_run(judged: JudgedTurns, name: str, run: Scored, resamples: int, seed: int) -> list[Held]:
    """
    Return each score of the *run* called *name*, under each of its policies, against each of people's.

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
    """Return one item for each of *shared*, with the mean of each score."""
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


NOT_JUDGED = "nobody judged it"
NO_VERDICT = "whoever judged it could not tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTurns:
    """The turns that people judged, with a column for each of their scores."""

    records: Sequence[TurnRecord]
    columns: Mapping[str, ScoreColumn]
    ratings: Mapping[str, Mapping[JudgedTurnKey, Mapping[str, Rating]]]
    """By score and turn: each rater's."""


def judged_turns(results: Results) -> JudgedTurns:
    """Return the turns in *results* that anybody scored, with a column for each score by people."""
    ratings: dict[str, dict[JudgedTurnKey, dict[str, Rating]]] = {}
    for score in results.scores:
        ratings.setdefault(score.name, {}).setdefault(score.turn, {})[score.rater] = score.value
    keys = {key for by_turn in ratings.values() for key in by_turn}
    records = [record for record in results.records if JudgedTurnKey.of(record) in keys]
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
            observed=[_mean(by_turn.get(JudgedTurnKey.of(record))) for record in records],
        )
    return JudgedTurns(records=records, columns=columns, ratings=ratings)


def _mean(given: Mapping[str, Rating] | None) -> float | Unscored:
    if given is None:
        return Unscored(reason=NOT_JUDGED)
    known = [float(rating) for rating in given.values() if rating is not None]
    return fmean(known) if known else Unscored(reason=NO_VERDICT)


Scored = tuple[Sequence[TurnRecord], Mapping[str, ScoreColumn]]
"""What ``Run.scored`` gives."""


def rename_systems(run: str, played: Scored, origins: Mapping[tuple[str, str], Origin]) -> Scored:
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
    places = {JudgedTurnKey.of(record): place for place, record in enumerate(records)}
    for played, columns in runs:
        met = [(places.get(JudgedTurnKey.of(record)), number) for number, record in enumerate(played)]
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
