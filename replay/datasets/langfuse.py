"""
Exports of Langfuse: observations as JSON Lines, a JSON list, CSV or a page of its interface, and traces and
sessions as one downloads them, with names in either style (``trace_id``, ``traceId``).

https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields and
https://langfuse.com/docs/api-and-data-platform/features/export-from-ui.

- Observations of the type ``GENERATION`` are calls of a model. Those of a session are one conversation, in
  the order in which they started; without a session those of a trace are.
- A trace without any is the call itself, with its own input and output.
- Scores of traces and observations are kept in the metadata, as ``scores``: each with ``name`` and ``value``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.json_rows import outline, partition_rows, rows_of_any
from replay.datasets.model_calls import ModelCall, conversations_of, messages_in, parse_json_value
from replay.datasets.tables import csv_rows

_OTHERS = {"messages", "conversations", "conversation", "turns", "contexts", "run_type", "resourceSpans"}
"""Fields that such exports don't have, and other formats do."""
_CAPITAL = re.compile("[A-Z]")
Row = Mapping[str, Any]
"""A row by names in the style of ``trace_id``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LangfuseReader:
    """Reads exports of Langfuse, one conversation a session or trace. All rows are held in memory."""

    name: str | None = None
    """Only observations of this name are calls, where a program also asks a model for other things."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first row is an observation or a trace."""
        if path.suffix.lower() == ".csv":
            header = head.partition(b"\n")[0].decode(errors="replace").replace('"', "").strip()
            return _is_of_langfuse(header.split(","))
        found = outline(head)
        return any(_is_of_langfuse(found.get(at, ())) for at in ("", "[]", ".data[]", ".traces[]"))

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations in order of first appearance, after the errors of what can't be read.

        Raises:
            DatasetError: the file can't be opened, or has no call of a model.
        """
        rows, faults = partition_rows(_rows(path))
        yield from faults
        found = (call for place, row in rows for call in _calls_in(row, place))
        calls = [(place, row) for place, row in found if self.name in (None, row.get("name"))]
        if not calls and not faults:
            called = f' called "{self.name}"' if self.name else ""
            raise DatasetError(f"has no observation of the type GENERATION{called}", path=str(path))
        yield from conversations_of(_call(row, place) for place, row in calls)


def _rows(path: Path) -> Iterator[tuple[SourceLocation, Row | DatasetError]]:
    if path.suffix.lower() != ".csv":
        yield from rows_of_any(path, dict[str, Any])
        return
    rows = csv_rows(path)
    _, header = next(rows, (None, []))
    for place, cells in rows:
        yield place, dict(zip(header, cells, strict=False))


def _calls_in(row: Row, place: SourceLocation, **known: Any) -> Iterator[tuple[SourceLocation, Row]]:
    """Yield the calls that *row* is or holds, each with what is *known* of it by where it stands."""
    row = {**known, **{_snake(name): value for name, value in row.items() if value not in (None, "")}}
    if isinstance(page := row.get("data"), list):
        within = [one for one in page if isinstance(one, dict)]
    elif isinstance(traces := row.get("traces"), list):
        within = [one for one in traces if isinstance(one, dict)]
        known = {"session_id": row.get("id"), "scores": row.get("scores")}
    elif "type" in row:
        within = []
        if str(row["type"]).upper() == "GENERATION":
            yield place, row
    else:
        if isinstance(trace := row.get("trace"), dict):
            row = {**{_snake(name): value for name, value in trace.items()}, **row}
        known = {
            "trace_id": row.get("id"), "session_id": row.get("session_id"), "scores": row.get("scores"),
        }  # fmt: skip
        observations = row.get("observations")  # in a list of traces these are ids
        within = [one for one in observations or () if isinstance(one, dict)]
        if not any(str(one.get("type")).upper() == "GENERATION" for one in within):
            within = []
            if row.get("input") is not None or row.get("output") is not None:
                yield place, {**row, "trace_id": row.get("id")}
    for one in within:
        yield from _calls_in(one, place, **known)


def _call(row: Row, place: SourceLocation) -> ModelCall | tuple[str, DatasetError]:
    conversation = str(row.get("session_id") or row.get("trace_id") or row.get("id"))
    started = row.get("start_time") or row.get("timestamp")
    at = f"{row['type']} {row['id']}, " if "type" in row and "id" in row else ""
    try:
        call = ModelCall(
            conversation=conversation,
            started=str(started or ""),
            place=place,
            messages=messages_in(row.get("input"), place, f"{at}input"),
            answers=messages_in(row.get("output"), place, f"{at}output", "assistant"),
            scores=list(_scores(parse_json_value(row.get("scores")))),
        )
    except DatasetError as error:
        return conversation, error
    call.set_times(started, row.get("end_time"))
    return call


def _scores(listed: Any) -> Iterator[dict[str, Any]]:
    for score in listed if isinstance(listed, list) else ():
        if isinstance(score, dict) and isinstance(score.get("name"), str):
            row = {_snake(name): value for name, value in score.items()}
            # Of categories the value is a number without a meaning.
            value = row.get("string_value") if row.get("string_value") is not None else row.get("value")
            if value is not None:
                yield {"name": row["name"], "value": value}


def _snake(name: str) -> str:
    """Return ``trace_id`` for ``traceId``."""
    return _CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)


def _is_of_langfuse(names: Iterable[str]) -> bool:
    found = {_snake(name) for name in names}
    is_observation = {"id", "type", "trace_id", "start_time"} <= found
    is_trace = "observations" in found and bool({"session_id", "html_path", "trace", "timestamp"} & found)
    return (is_observation or is_trace) and not found & _OTHERS
