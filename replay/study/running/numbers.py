"""
From what people said to the numbers that are shown of it, whatever the preset.

A turn's score by people is the mean over its raters; from there on it goes the way of any scorer's, into a
table by depth with intervals over conversations. Beside it stands how far raters agree, and how far people
and automatic scores do: turn by turn, in the order of systems, and passage by passage (Li et al., 2022,
section 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.depth_table import DepthRow, DepthTable, depth_table
from replay.statistics.people import (
    HumanNumber,
    HumanScores,
    HumanTable,
    PeopleGroup,
    PeopleRow,
    PeopleScore,
    number_text,
)
from replay.statistics.rater_agreement import RatedItem
from replay.statistics.rater_table import AgreementRow, RaterAgreement, rater_agreement_of
from replay.statistics.score_column import ScoreColumn
from replay.study.preset import JudgedTurnKey, Results
from replay.study.running.judged_turns import (
    JudgedTurns,
    Scored,
    against_tables,
    automatic_columns,
    compare_with_run,
    compare_with_scores,
    judged_turns,
)
from replay.study.running.study_file import StudyFile
from replay.study.running.task_fields import own_table
from replay.study.tasks import StudyState


def study_numbers(
    file: StudyFile,
    state: StudyState,
    *,
    results: Results | None = None,
    runs: Iterable[Scored] = (),
    against: Mapping[str, Scored] | None = None,
    resamples: int = 1000,
) -> HumanScores:
    """
    Return the numbers of the study of *file* as it stands in *state*; with no judgement yet, nearly nothing.

    *results* are those of *state*, if they are at hand; *runs* those whose scores stand beside the people's,
    with systems called as in the results (``rename_systems``). *against* are runs of the same systems and
    conversations, by name, whose turns nobody judged. With ``resamples=0`` there are no intervals.

    Raises:
        InputError: one of *against* has nothing in common with what people judged.
    """
    results = file.preset.results(state) if results is None else results
    judged, seed = judged_turns(results), file.study.seed
    automatic = automatic_columns(judged.records, runs)
    columns = {**automatic, **judged.columns}
    columns = {name: columns[name] for name in (*judged.columns, *automatic)}
    agreement = _agreement(judged, results.rated, resamples, seed)
    held = compare_with_scores(judged, automatic, resamples=resamples, seed=seed)
    others = [
        one
        for name, run in (against or {}).items()
        for one in compare_with_run(judged, name, run, resamples=resamples, seed=seed)
    ]
    tables = [
        *([_agreement_table(agreement)] if agreement else []),
        *against_tables(held),
        *against_tables(others, item="conversation", where=", of other runs"),
        *results.tables,
        *([own] if (own := own_table(file.study, state)) is not None else []),
    ]
    return HumanScores(
        study=file.study.name,
        raters=len({one.rater for one in state.done}),
        scores={
            name: PeopleScore(unit=one.unit, signature=one.scorer.signature, by_people=name in judged.columns)
            for name, one in columns.items()
        },
        groups=_groups(judged.records, columns, resamples, seed),
        tables=tables,
        details={
            "agreement": {name: one.to_json() for name, one in agreement.items()},
            "against_scores": [{"policy": policy, **one.to_json()} for policy, one in [*held, *others]],
        },
    )


def _groups(
    records: Sequence[TurnRecord], columns: Mapping[str, ScoreColumn], resamples: int, seed: int
) -> list[PeopleGroup]:
    if not records:
        return []
    lengths: dict[str, int] = {}
    for record in records:
        lengths[record.conversation] = max(record.depth, lengths.get(record.conversation, 0))
    table = depth_table(records, columns, lengths, resamples=resamples, seed=seed)
    return [
        PeopleGroup(
            system=one.group.system,
            policy=one.group.policy,
            rows=[
                PeopleRow(depth=row.depth, turns=row.turns, scores=_scores(row, table))
                for row in one.rows
                if row.turns
            ],
        )
        for one in table.groups
    ]


def _scores(row: DepthRow, table: DepthTable) -> dict[str, HumanNumber]:
    return {
        name: HumanNumber(
            value=score.value,
            low=score.low,
            high=score.high,
            note=", ".join(score.unscored) if score.value is None else score.no_interval or "",
            unit=table.columns[name].unit,
        )
        for name, score in row.scores.items()
    }


def _agreement(
    judged: JudgedTurns, rated: Mapping[str, Sequence[RatedItem]], resamples: int, seed: int
) -> dict[str, RaterAgreement]:
    """By score; of the items that are *rated*, or else of what two raters gave to one turn."""
    about = {JudgedTurnKey.of(record): record.recorded_conversation for record in judged.records}
    found = {
        name: rater_agreement_of(
            rated.get(name)
            or [
                RatedItem(conversation=about[key], depth=key.depth, ratings=given)
                for key, given in by_turn.items()
            ],
            level="nominal" if judged.columns[name].unit == SHARE else "ordinal",
            resamples=resamples,
            seed=seed,
        )
        for name, by_turn in judged.ratings.items()
    }
    return {name: one for name, one in found.items() if one.total.shared}


def _agreement_table(agreement: Mapping[str, RaterAgreement]) -> HumanTable:
    def cells(name: str, row: AgreementRow) -> tuple[Any, ...]:
        numbers = (row.cohen, row.fleiss, row.alpha)
        shown = (number_text(row.agreement, SHARE), *map(number_text, numbers))
        return (name, row.depth or "all", row.shared, row.complete, row.raters, *shown)

    return HumanTable(
        title="Agreement among raters",
        columns=(
            *("score", "depth", "turns", "of them for Fleiss", "raters", "equal"),
            *("Cohen's kappa", "Fleiss' kappa", "Krippendorff's alpha"),
        ),
        rows=[
            cells(name, row)
            for name, one in agreement.items()
            for row in (*one.depths, one.total)
            if row.shared
        ],
        caption="On turns that two raters or more judged. Of more than two raters Cohen's kappa is the mean "
        "over pairs, Fleiss' kappa of the turns with as many ratings as most have; alpha takes points on a "
        "scale as ordered.",
    )
