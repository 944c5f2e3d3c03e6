"""From two tables to an evaluation file: what ``replay score-file`` does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.scorers.judges.claim_scores import ClaimCounts
from replay.scorers.scorer import Unscored
from replay.statistics.bootstrap import cluster_weights, resampled_means
from replay.statistics.interval import Interval, interval
from replay.tables.scoring.asked_claims import asked_claims
from replay.tables.scoring.claims import COUNTS, LISTS, SCORES, RowClaims, row_claims
from replay.tables.scoring.columns import MEASURED, Models, ScoredColumn, measure
from replay.tables.scoring.joining import JoinResult
from replay.tables.scoring.judged_file import PanelVerdicts

SCORE_COLUMNS = (*MEASURED, *SCORES)
DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMean:
    """One column over all rows."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    """The t interval, Wilson's for shares, over rows."""
    scored: int
    unscored: Mapping[str, int]
    """Rows without a value, by reason."""
    signature: str

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The file and its means."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    means: tuple[ColumnMean, ...]
    left_out: Mapping[str, str]
    """Columns that could not be had, and why."""
    notes: tuple[str, ...]


def check_columns(only: Sequence[str]) -> None:
    """
    Make sure that there are columns called as *only* says.

    Raises:
        InputError: one is none.
    """
    for name in only:
        if name not in SCORE_COLUMNS:
            known = ", ".join(SCORE_COLUMNS)
            raise InputError(f'"{name}" is not a column{nearest(name, SCORE_COLUMNS)} (known: {known})')


def evaluate(
    joined: JoinResult,
    *,
    only: Sequence[str] = (),
    models: Models,
    asked: PanelVerdicts | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """
    The evaluation file of *joined*, with every column that can be had, or with *only* those named.

    The claims are those that a judge was *asked* for, or else those of the response file.

    Raises:
        InputError: *only* names a column that there is not.
        PluginError: a column that *only* names can't be had.
    """
    check_columns(only)
    wanted = [name for name in MEASURED if not only or name in only]
    scored, left_out = measure(joined.rows, wanted, models, needed=bool(only))
    left_out |= {name: "not asked for" for name in MEASURED if name not in wanted}
    claims = [row_claims(row) for row in joined.rows] if asked is None else asked_claims(joined, asked)
    origin = "claims:recomputed" if asked is None else asked.panel.signature
    judged = [name for name in SCORES if not only or name in only]
    if any(isinstance(one.counts, ClaimCounts) for one in claims):
        scored += _judged_columns(claims, judged, origin)
        left_out |= {name: "not asked for" for name in SCORES if name not in judged}
        claim_columns: tuple[str, ...] = (
            *COUNTS,
            *(n for n in LISTS if any(n in one.lists for one in claims)),
        )
    elif only and judged:
        where = "the response file has no claims and no counts of claims; --judge asks a judge for them"
        raise InputError(f"{', '.join(judged)}: {where if asked is None else 'the judge listed none'}")
    else:
        left_out |= dict.fromkeys(
            (*SCORES, *COUNTS, *LISTS),
            "no claims in the response file; --judge asks a judge for them"
            if asked is None
            else "the judge listed no row's claims",
        )
        claim_columns = ()
    order = {name: place for place, name in enumerate(SCORE_COLUMNS)}
    scored.sort(key=lambda column: order[column.name])
    unscored = any(isinstance(value, Unscored) for column in scored for value in column.values)
    return Evaluation(
        columns=(
            "id", "Question", "Golden Context", "Golden Response", "Candidate Response",
            *(column.name for column in scored), *claim_columns, *(("Unscored",) if unscored else ()),
        ),
        rows=tuple(_row(joined, place, scored, claims[place]) for place in range(len(joined.rows))),
        means=tuple(_mean(column, resamples, seed) for column in scored),
        left_out=left_out,
        notes=(*_notes(joined, claims), *(asked.tally.sentences() if asked else ())),
    )  # fmt: skip


def _judged_columns(claims: Sequence[RowClaims], names: Sequence[str], origin: str) -> list[ScoredColumn]:
    by_row = [one.scores() for one in claims]
    return [
        ScoredColumn(
            name=name,
            values=tuple(row[name] for row in by_row),
            signature=f"{origin}|{name[4:].lower()}",
        )
        for name in names
    ]


def _row(joined: JoinResult, place: int, scored: Sequence[ScoredColumn], claims: RowClaims) -> dict[str, Any]:
    row = joined.rows[place]
    cells: dict[str, Any] = {
        "id": row.id,
        "Question": row.question,
        "Golden Context": row.context,
        "Golden Response": row.golden[0] if len(row.golden) == 1 else _shown(row.golden),
        "Candidate Response": row.candidate,
    }
    reasons = {}
    for column in scored:
        value = column.values[place]
        if isinstance(value, Unscored):
            reasons[column.name] = value.reason
        else:
            cells[column.name] = round(value, DIGITS)
    if isinstance(claims.counts, ClaimCounts):
        counts = claims.counts
        cells |= zip(COUNTS, (counts.golden, counts.candidate, counts.common), strict=True)
    cells |= {name: _shown(value) for name, value in claims.lists.items()}
    if reasons:
        cells["Unscored"] = _shown(reasons)
    return cells


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _mean(column: ScoredColumn, resamples: int, seed: int) -> ColumnMean:
    known = [value for value in column.values if not isinstance(value, Unscored)]
    reasons: dict[str, int] = {}
    for one in column.values:
        if isinstance(one, Unscored):
            reasons[one.reason] = reasons.get(one.reason, 0) + 1
    value = fmean(known) if known else None
    weights = cluster_weights(len(known), resamples=resamples, seed=seed)
    resampled = resampled_means(np.array(known).reshape(-1, 1), np.ones((len(known), 1)), weights)[:, 0]
    ends = interval(
        resampled, method="t", confidence=0.95, conversations=len(known), estimate=value, scale="share"
    )
    return ColumnMean(
        name=column.name,
        value=value,
        low=ends.low if isinstance(ends, Interval) else None,
        high=ends.high if isinstance(ends, Interval) else None,
        scored=len(known),
        unscored=reasons,
        signature=column.signature,
    )


def _notes(joined: JoinResult, claims: Sequence[RowClaims]) -> list[str]:
    said = [f"{len(joined.rows)} rows, joined by {joined.by}."]
    if joined.unanswered:
        said.append(f"{joined.unanswered} rows have no response; they are in the file, unscored.")
    if joined.strangers:
        said.append(f"{joined.strangers} responses belong to no row of the benchmark; left out.")
    if miscounted := sum(one.miscounted for one in claims):
        said.append(f"in {miscounted} rows the counts given are not those of the lists; the lists count.")
    if rows := sum(one.invented > 0 for one in claims):
        many = sum(one.invented for one in claims)
        said.append(f"common claims that stand in neither list: {many} in {rows} rows; they count.")
    return said
