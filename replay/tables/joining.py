"""
Two tables become one: questions with gold answers from a benchmark file, answers from a response file.

Rows are joined by id, by question, or by position. Joining by position trusts both files to be in the
same order, so it is done only where both have the same number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.datasets.tables import DataTable, TableRow

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
