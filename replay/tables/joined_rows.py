"""
Two tables become one: questions with gold answers from a benchmark file, answers from a response file.

Rows are joined by id, by question, or by position. Joining by position trusts both files to be in the same
order, so it is done only where both have the same number of rows.

A row's claims are those of the response file, recomputed, or those that a judge is asked to list. Lists win
over counts: a judge that is asked to count is often off by one.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.datasets.tables import DataTable, TableRow
from replay.scorers.judges.claims import (
    LISTS as FOUND,
    ClaimCounts,
    ClaimsJudge,
    claims_in,
    count_claims,
    unsupported_claims,
)
from replay.scorers.judges.judge import Case
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.scorer import Unscored
from replay.tables.rating_files import JUDGED_COLUMNS
from replay.tables.responses import PanelVerdicts, dialogue_case

JoinKind = Literal["id", "question", "row"]
Field = Literal["id", "question", "golden", "context", "candidate"]

KNOWN: Mapping[Field, tuple[str, ...]] = {
    "id": ("id", "sno.", "sno", "question id", "qid"),
    "question": ("question", "query", "user input", "prompt"),
    "golden": (
        "golden response", "golden answer", "gold answer", "gold answers", "ground truth", "reference",
        "answer",
    ),
    "context": ("golden context", "gold context", "context", "contexts", "passage"),
    "candidate": (
        "candidate response", "candidate answer", "candidate", "response", "prediction", "predicted answer",
        "answer",
    ),
}  # fmt: skip
"""What a column may be called, best first; case and ``_`` for a space don't matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRow:
    """A question with what is known about it."""

    id: str
    question: str
    golden: tuple[str, ...]
    context: str
    candidate: str | None
    """None if the response file has no row for it; a blank cell is an empty answer."""
    response: Mapping[str, Any]
    """The whole row of the response file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinResult:
    """The benchmark's rows, in its order."""

    rows: tuple[JoinedRow, ...]
    by: JoinKind
    unanswered: int
    """Rows without a response; kept, unscored."""
    strangers: int
    """Responses to no row of the benchmark; left out."""


def join(
    benchmark: DataTable,
    responses: DataTable,
    *,
    by: JoinKind | None = None,
    columns: Mapping[Field, str] | None = None,
) -> JoinResult:
    """
    Join the two tables: *by* id where both have ids, else by question, else by row.

    *columns* names columns that are called otherwise than expected, in either file.

    Raises:
        InputError: a column is missing, a key stands twice in a file, the numbers of rows differ where
            rows are joined by position, or nothing matches.
    """
    named = columns or {}
    question = _need(benchmark, "question", named)
    golden = _need(benchmark, "golden", named)
    candidate = _need(responses, "candidate", named)
    context = _find(benchmark, "context", named)
    keys = {
        "id": (_find(benchmark, "id", named), _find(responses, "id", named)),
        "question": (question, _find(responses, "question", named)),
    }
    kind: JoinKind = by or ("id" if all(keys["id"]) else "question" if all(keys["question"]) else "row")
    found = _matches(benchmark, responses, kind, keys)
    own_id = keys["id"][0]
    rows = []
    for number, row in enumerate(benchmark.rows):
        response = found[number]
        text = None if response is None else response.cells.get(candidate)
        rows.append(
            JoinedRow(
                id=_text(row.cells.get(own_id)) if own_id else str(number + 1),
                question=_text(row.cells.get(question)),
                golden=_texts(row.cells.get(golden)),
                context="\n\n".join(_texts(row.cells.get(context))) if context else "",
                candidate=None if response is None else _text(text),
                response={} if response is None else response.cells,
            )
        )
    unanswered = sum(row.candidate is None for row in rows)
    if unanswered == len(rows):
        raise InputError(
            f"no {kind} of {benchmark.path} is in {responses.path}; say what to join by with --join"
        )
    return JoinResult(
        rows=tuple(rows),
        by=kind,
        unanswered=unanswered,
        strangers=len(responses.rows) - (len(rows) - unanswered),
    )


def _matches(
    benchmark: DataTable,
    responses: DataTable,
    kind: JoinKind,
    keys: Mapping[str, tuple[str | None, str | None]],
) -> list[TableRow | None]:
    """For each benchmark row its response."""
    if kind == "row":
        if len(benchmark.rows) != len(responses.rows):
            raise InputError(
                f"{benchmark.path} has {len(benchmark.rows)} rows and {responses.path} has "
                f"{len(responses.rows)}; joined by row they have to be equally many. "
                "Give both files a column id, or the question"
            )
        return list(responses.rows)
    left, right = keys[kind]
    for name, table in ((left, benchmark), (right, responses)):
        if name is None:
            raise InputError(f'{table.path} has no column for "{kind}" to join by; name it with --{kind}')
    by_key = _by_key(responses, str(right), kind)
    _by_key(benchmark, str(left), kind)
    return [by_key.get(_key(row.cells.get(str(left)))) for row in benchmark.rows]


def _by_key(table: DataTable, column: str, kind: JoinKind) -> dict[str, TableRow]:
    rows: dict[str, TableRow] = {}
    for row in table.rows:
        key = _key(row.cells.get(column))
        if not key:
            raise row.place.error("is empty; rows are joined by it", column)
        if key in rows:
            other = "--join id or " if kind == "question" else ""
            raise row.place.error(f'"{key[:60]}" stands in an earlier row too; use {other}--join row', column)
        rows[key] = row
    return rows


def _key(value: Any) -> str:
    return " ".join(_text(value).split())


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # spreadsheets keep the id 7 as 7.0
    return "" if value is None else str(value)


def _texts(value: Any) -> tuple[str, ...]:
    """Return one text, or several from a list; none for a blank cell."""
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(_text(one) for one in values if one is not None)


def _find(table: DataTable, field: Field, named: Mapping[Field, str]) -> str | None:
    """Return the column of *table* that holds *field*, if any."""
    if field in named:
        return named[field] if named[field] in table.columns else None
    plain = {name.lower().replace("_", " ").strip(): name for name in reversed(table.columns)}
    return next((plain[name] for name in KNOWN[field] if name in plain), None)


def _need(table: DataTable, field: Field, named: Mapping[Field, str]) -> str:
    found = _find(table, field, named)
    if found is None:
        wanted = named.get(field) or KNOWN[field][0]
        raise InputError(
            f'{table.path} has no column "{wanted}"{nearest(wanted, table.columns)} '
            f"(found: {', '.join(table.columns)}); name it with --{field}"
        )
    return found


COUNTS = ("Golden Response Claim Count", "Candidate Response Claim Count", "Common Claim Count")
LISTS = ("Golden Response Claims", "Candidate Response Claims", "Common Claims")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowClaims:
    """What is known of one row's claims."""

    counts: ClaimCounts | Unscored
    lists: Mapping[str, Any]
    """The cells with the lists, as they were."""
    miscounted: bool = False
    """The counts given are not those of the lists."""
    invented: int = 0
    """Common claims that stand in neither of the other lists."""

    def scores(self) -> dict[str, float | Unscored]:
        """Return recall, precision and F1 in [0, 1], by the names of ``JUDGED_COLUMNS``."""
        if isinstance(self.counts, Unscored):
            return dict.fromkeys(JUDGED_COLUMNS, self.counts)
        values = (self.counts.recall, self.counts.precision, self.counts.f1)
        none = Unscored(reason="no golden claims")
        return {name: none if v is None else v for name, v in zip(JUDGED_COLUMNS, values, strict=True)}


def row_claims(row: JoinedRow, asked: Mapping[str, Any] | None = None) -> RowClaims:
    """Return the claims in the row's response, if there are any, or in what a judge was *asked*."""
    response = row.response if asked is None else asked
    lists = {name: response[name] for name in LISTS if response.get(name) is not None}
    given = _given_counts(response)
    if len(lists) == len(LISTS):
        claims = [_claims(lists[name]) for name in LISTS]
        if any(one is None for one in claims):
            return RowClaims(counts=given or Unscored(reason="the claims are no list"), lists=lists)
        golden, candidate, common = (one or [] for one in claims)
        counts = count_claims(golden, candidate, common)
        return RowClaims(
            counts=counts,
            lists=lists,
            miscounted=given is not None and given != counts,
            invented=len(unsupported_claims(golden, candidate, common)),
        )
    reason = "not answered" if row.candidate is None else "no claims or counts in the response file"
    return RowClaims(counts=given or Unscored(reason=reason), lists=lists)


def _given_counts(response: Mapping[str, Any]) -> ClaimCounts | None:
    values = []
    for name in COUNTS:
        try:
            value = float(response[name])
        except (KeyError, TypeError, ValueError):
            return None
        if value < 0 or not value.is_integer():
            return None
        values.append(int(value))
    return ClaimCounts(golden=values[0], candidate=values[1], common=values[2])


def _claims(cell: Any) -> list[str] | None:
    """
    Return the claims in a cell, or in the JSON or Python text that it holds; None where there is no list.
    """
    try:
        if isinstance(cell, str):
            try:
                cell = json.loads(cell)
            except ValueError:
                cell = ast.literal_eval(cell)
        return claims_in(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def check_panel(panel: Panel) -> None:
    """
    Make sure that *panel* lists claims, and gives one list for each row.

    Raises:
        InputError: it is another judge, or there are several voters or repeats.
    """
    if not isinstance(panel.judge, ClaimsJudge):
        raise InputError(
            f'--judge "{panel.name}": only the judge claims fills an evaluation file\'s columns; '
            "`replay judge-file` writes a table of any judge's numbers"
        )
    if len(panel.voters) > 1 or panel.repeats > 1:
        raise InputError(
            f'--judge "{panel.name}": an evaluation file has room for one list of claims; '
            "give one adapter, and no repeats"
        )


def row_cases(joined: JoinResult) -> list[Case]:
    """Return a case for each row that has a response, in a conversation named by the row's number, from 1."""
    return [
        dialogue_case(
            str(number),
            [("User", row.question)],
            row.candidate,
            gold_answers=tuple(text for text in row.golden if text.strip()),
            fact=row.context or None,
        )
        for number, row in enumerate(joined.rows, 1)
        if row.candidate is not None
    ]


def asked_claims(joined: JoinResult, found: PanelVerdicts) -> list[RowClaims]:
    """
    Return the claims that the judge found in each row, in the order of the rows.

    A row without claims says why there are none.
    """
    return [_judged_claims(row, found.verdicts.get(str(number))) for number, row in enumerate(joined.rows, 1)]


def _judged_claims(row: JoinedRow, verdict: Verdict | None) -> RowClaims:
    if verdict is None:
        return RowClaims(counts=Unscored(reason="not answered"), lists={})
    evidence: Mapping[str, Any] = verdict.repeats[0].votes[0].evidence if verdict.repeats else {}
    lists: Sequence[Any] = [evidence.get(name) for name in FOUND]
    if any(one is None for one in lists):
        why = next(value for value in verdict.values.values() if isinstance(value, Unscored))
        return RowClaims(counts=why, lists={})
    return row_claims(row, dict(zip(LISTS, lists, strict=True)))
