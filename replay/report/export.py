"""
For other programs: the report as JSON; turns, their steps, or checks, as a file of CSV, JSON lines or
Parquet; turns in the two files that the published program writes.

Texts are written exactly as they were asked and answered. In particular an answer that starts with ``=``,
``+``, ``-`` or ``@`` stays as it is in CSV, where a spreadsheet may take it for a formula: open such a file
with its columns imported as text, or use one of the other formats. CSV can't tell an empty text from a
missing one; ``outcome`` tells whether there was an answer.

Replies as they came are JSON lines: one that is UTF-8 is in ``text``, any other in ``base64``.

The published program's files (Li et al., ACL 2022; program princeton-nlp/EvalConvQA), for scripts that read
those:

- ``predictions_{system}_{policy}_{entities}_{start}_{end}.json``: one JSON object per dialog and line,
  in the data's order, with the lists ``best_span_str`` (answers), ``qid`` (turn ids), ``yesno`` and
  ``followup`` (both ``"y"`` throughout, as there). A turn without an answer, filtered out or failed, is
  in no list.
- ``modified_questions_{...}.json``: an object from the dialog's position in the data, from 0, to an
  object with the lists ``Rewritten`` and ``Replaced`` (pairs of turn id and question asked), ``Not
  Found`` and ``Filtered`` (turn ids).

The names' parts are the program's: the model's name is the system's here, the option the policy's
label; *entities* is ``skipent`` where drift was detected by the published rule without capitalised
mentions (``skip_entity``), else ``keptent``; *start* and *end* are the range of dialogs. Each repeat of a
run (``play.repeats``) but the first has a pair of files of its own, with ``repeat2`` after the option.
Where we know more than the program: ``Rewritten`` holds what ``augment`` asked too, and ``Not Found`` the
turns whose rewriting failed, which were asked as recorded as well. As there, an invalid question is listed
as rewritten or replaced even when its new wording is the old one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from replay import __version__
from replay.core.adapter import RawReply
from replay.core.expectation import CheckResult
from replay.core.extras import extra_module
from replay.core.record import TurnRecord
from replay.report.notes import notes
from replay.statistics import VERSION as STATISTICS
from replay.statistics.checks import CHECK_COLUMNS, check_rows
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import (
    STEP_COLUMNS,
    CellType,
    ScoreColumn,
    encodable,
    step_rows,
    turn_columns,
    turn_rows,
)

Format = Literal["csv", "jsonl", "parquet"]
Scores = Mapping[str, ScoreColumn]
Columns = Mapping[str, CellType]


class Rows(Protocol):
    """Gives a table's rows; what has an inner structure as JSON text unless *nested*."""

    def __call__(self, *, nested: bool) -> Iterator[dict[str, Any]]: ...


ROW_GROUP = 5000
"""Rows that a Parquet file is written by, and that are held in memory for it."""


def export_turns(
    records: Iterable[TurnRecord], scores: Scores, target: Path | IO[bytes], kind: Format
) -> int:
    """
    Write one row per record and return their number.

    *scores* are columns over *records*, by name; there may be none. *target* is a file or a binary
    stream, which is left open. The columns are those of
    ``turn_columns``; what has an inner structure is nested in JSON lines and JSON text in the other
    formats. Text is UTF-8, and half of a surrogate pair, which UTF-8 can't hold, is written as
    ``\\udc80``. Records are read one by one, never all at once.

    Raises:
        PluginError: Parquet is asked for but pyarrow is not installed.
        OSError: the file can't be written.
    """
    return _export(turn_columns(scores), partial(turn_rows, records, scores), target, kind)


def export_checks(checks: Iterable[CheckResult], target: Path | IO[bytes], kind: Format) -> int:
    """
    Write one row per check and return their number; the columns are ``CHECK_COLUMNS``.

    Raises:
        As ``export_turns``.
    """
    return _export(CHECK_COLUMNS, partial(check_rows, checks), target, kind)


def export_steps(records: Iterable[TurnRecord], target: Path | IO[bytes], kind: Format) -> int:
    """
    Write one row per step between a question and its answer and return their number; the columns are
    ``STEP_COLUMNS``.

    Raises:
        As ``export_turns``.
    """
    return _export(STEP_COLUMNS, partial(step_rows, records), target, kind)


def _export(columns: Columns, rows: Rows, target: Path | IO[bytes], kind: Format) -> int:
    if kind == "parquet":
        _pyarrow()  # before the file is there
    write = _WRITERS[kind]
    if isinstance(target, Path):
        with target.open("wb") as stream:
            return write(columns, rows, stream)
    return write(columns, rows, target)


def _write_csv(columns: Columns, rows: Rows, stream: IO[bytes]) -> int:
    count = 0
    with _text(stream) as text:
        writer = csv.DictWriter(text, list(columns))  # as RFC 4180: CRLF, quotes doubled
        writer.writeheader()
        for row in rows(nested=False):
            writer.writerow(row)
            count += 1
    return count


def _write_jsonl(columns: Columns, rows: Rows, stream: IO[bytes]) -> int:
    count = 0
    with _text(stream) as text:
        for row in rows(nested=True):
            text.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _write_parquet(columns: Columns, rows: Rows, stream: IO[bytes]) -> int:
    pyarrow, parquet = _pyarrow()
    types = {
        "text": pyarrow.string(),
        "json": pyarrow.string(),
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "flag": pyarrow.bool_(),
    }
    # Said beforehand, because a column's type must not depend on which cells happen to be missing.
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
    count = 0
    cells = map(encodable, rows(nested=False))
    with parquet.ParquetWriter(stream, schema) as writer:
        while some := list(islice(cells, ROW_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(some, schema=schema))
            count += len(some)
    return count


_WRITERS: Mapping[Format, Callable[[Columns, Rows, IO[bytes]], int]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}


@contextmanager
def _text(stream: IO[bytes]) -> Iterator[IO[str]]:
    # Inside a JSON string the escape of half a surrogate pair even means the same.
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()


def _pyarrow() -> tuple[Any, Any]:
    parquet = extra_module(
        "pyarrow.parquet", "parquet", "writing Parquet", otherwise="or export as csv or jsonl"
    )
    return extra_module("pyarrow", "parquet", "writing Parquet"), parquet


def export_raw(replies: Iterable[RawReply], stream: IO[bytes]) -> int:
    """Write a line for each of *replies*, and return their number."""
    count = 0
    for reply in replies:
        line = {
            "asked_at": reply.asked_at,
            "conversation": reply.conversation,
            "system": reply.system,
            "policy": reply.policy,
            "depth": reply.depth,
            "attempt": reply.attempt,
            "outcome": reply.outcome,
            "cut_bytes": reply.cut_bytes,
            **_content(reply.data),
        }
        stream.write(json.dumps(encodable(line), ensure_ascii=False).encode() + b"\n")
        count += 1
    return count


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}


SCHEMA = 1
"""Goes up when a key changes its meaning or goes away, not when one is added."""


def report_json(report: Report | None, load: LoadSummary | None = None) -> dict[str, Any]:
    """
    Return the whole report as plain JSON values, nothing left out or rounded.

    Scores are in their column's ``unit``; the unit ``share`` means a share in [0, 1], never per cent.
    Durations are in seconds.

    Args:
        report: None if the run has too many turns for a report; then there is *load* alone.
        load: The numbers of a load run.
    """
    loaded = {"schema": SCHEMA, "convreplay": __version__, "statistics": STATISTICS}
    loaded |= {} if load is None else {"load": load.to_json()}
    if report is None:
        return loaded
    return {
        **loaded,
        "depth_table": report.table.to_json(),
        "gaps": [gap.to_json() for gap in report.gaps],
        "hidden": [one.to_json() for one in report.hidden],
        "wording": [one.to_json() for one in report.wording],
        "failures": [failure.to_json() for failure in report.failures],
        "notes": notes(report),
        "signatures": dict(report.signatures),
        "judges": [dict(judge) for judge in report.judges],
        **({"checks": report.checks.to_json()} if report.checks else {}),
        **({"recorded": report.recorded.to_json()} if report.recorded else {}),
        **(
            {"interventions": [one.to_json() for one in report.interventions]} if report.interventions else {}
        ),
        **({"simulations": [one.to_json() for one in report.simulations]} if report.simulations else {}),
        **({"survival": [one.to_json() for one in report.survival]} if report.survival else {}),
        **({"turn_groups": [one.to_json() for one in report.turn_groups]} if report.turn_groups else {}),
        **({"repeats": report.repeats.to_json()} if report.repeats else {}),
        **({"server_times": [one.to_json() for one in report.server]} if report.server else {}),
        **({"people": report.people.to_json()} if report.people else {}),
    }


Category = Literal["Rewritten", "Replaced", "Not Found", "Filtered"]
CATEGORIES: tuple[Category, ...] = ("Rewritten", "Replaced", "Not Found", "Filtered")
_BY_EDIT: dict[str, Category] = {
    "rewritten": "Rewritten",
    "augmented": "Rewritten",
    "replaced": "Replaced",
    "not-found": "Not Found",
    "rewrite-failed": "Not Found",
    "filtered": "Filtered",
}
_BY_POLICY: dict[str, Category] = {"rewrite": "Rewritten", "replace": "Replaced"}


def write_evalconvqa(
    records: Iterable[TurnRecord], conversations: Sequence[str], folder: Path, *, skip_entity: bool = True
) -> list[Path]:
    """
    Write both files for each system, policy and repeat into *folder*, which is made if need be.

    *conversations* are the data's ids in order, *skip_entity* is the run's setting. A conversation without
    a record is in neither file.
    Returns the files, in order.

    Raises:
        OSError: a file can't be written.
    """
    dialogs: dict[tuple[Group, int], dict[str, list[TurnRecord]]] = {}
    for record in records:
        played = dialogs.setdefault((group_of(record), record.repeat), {})
        id = record.conversation if record.repeat == 1 else record.recorded_conversation
        played.setdefault(id, []).append(record)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    stems: Counter[str] = Counter()
    order = groups_in_order(group for group, _ in dialogs)
    for group, repeat in sorted(dialogs, key=lambda one: (order.index(one[0]), one[1])):
        played = dialogs[group, repeat]
        indexed = [
            (index, sorted(played[conversation], key=lambda r: r.depth))
            for index, conversation in enumerate(conversations)
            if conversation in played
        ]
        skips = skip_entity and any(
            r.drift is not None and r.drift.mode == "evalconvqa" for _, turns in indexed for r in turns
        )
        stem = _stem(group, repeat, "skipent" if skips else "keptent", len(conversations))
        stems[stem] += 1
        if stems[stem] > 1:  # two names that look the same once they are fit for a file
            stem = f"{stem}_{stems[stem]}"
        lines = "".join(json.dumps(_predictions(turns)) + "\n" for _, turns in indexed)
        modified = {str(index): modified_questions(turns) for index, turns in indexed}
        for kind, text in (("predictions", lines), ("modified_questions", json.dumps(modified, indent=2))):
            path = folder / f"{kind}_{stem}.json"
            path.write_text(text, "utf-8")
            written.append(path)
    return written


def modified_questions(turns: Sequence[TurnRecord]) -> dict[Category, list[Any]]:
    """
    Return the modified turns of one dialog by the program's categories.

    Returns:
        For each category turn ids; with the question as asked where it was rewritten or replaced.
    """
    found: dict[Category, list[Any]] = {category: [] for category in CATEGORIES}
    for record in turns:
        category = _category(record)
        if category is not None:
            named = category in ("Rewritten", "Replaced")
            found[category].append([record.turn, record.asked] if named else record.turn)
    return found


def _category(record: TurnRecord) -> Category | None:
    if record.edit != "kept":
        return _BY_EDIT[record.edit]
    invalid = record.drift is not None and record.drift.invalid
    return _BY_POLICY.get(record.policy.partition("(")[0]) if invalid else None


def _predictions(turns: Sequence[TurnRecord]) -> dict[str, list[str]]:
    answered = [record for record in turns if record.answer is not None]
    return {
        "best_span_str": [record.answer or "" for record in answered],
        "qid": [record.turn for record in answered],
        "yesno": ["y"] * len(answered),
        "followup": ["y"] * len(answered),
    }


def _stem(group: Group, repeat: int, entities: str, end: int) -> str:
    names = [re.sub(r"[^\w.()=,+-]+", "-", name) for name in (group.system, group.policy)]
    again = [] if repeat == 1 else [f"repeat{repeat}"]
    return "_".join([*names, *again, entities, "0", str(end)])
