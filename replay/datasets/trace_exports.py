"""
Exports of platforms that trace calls of models: Langfuse and LangSmith.

Langfuse: observations as JSON Lines, a JSON list, CSV or a page of its interface, and traces and sessions as
one downloads them, with names in either style (``trace_id``, ``traceId``).
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields and
https://langfuse.com/docs/api-and-data-platform/features/export-from-ui.

- Observations of the type ``GENERATION`` are calls of a model. Those of a session are one conversation, in
  the order in which they started; without a session those of a trace are.
- A trace without any is the call itself, with its own input and output.
- Scores of traces and observations are kept in the metadata, as ``scores``: each with ``name`` and ``value``.

LangSmith: runs as ``client.list_runs`` gives them and its bulk export writes them, and its data sets of
chats: JSON Lines, a JSON list, or Parquet. https://docs.langchain.com/langsmith/run-data-format.

- Runs of the type ``llm`` are calls of a model. Those of a thread are one conversation, in their dotted
  order; a thread is what the metadata calls ``thread_id``, ``conversation_id`` or ``session_id``, of the run
  or of any in its trace. Without one a trace is a conversation of its own.
- A conversation without any has the root runs of its traces as calls, with their own inputs and outputs.
- An example of a data set is a conversation with one call: ``inputs`` and ``outputs``.
- The feedback on a thread's runs is kept in the metadata, as ``scores``: each with ``name`` and the mean
  ``value``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.json_rows import has_only, outline, partition_rows, rows_of_any
from replay.datasets.model_calls import ModelCall, conversations_of, messages_in, parse_json_value
from replay.datasets.tables import csv_rows

_OTHERS = {"messages", "conversations", "conversation", "turns", "contexts", "resourceSpans"}
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
    return (is_observation or is_trace) and not found & {*_OTHERS, "run_type"}


_THREAD = ("thread_id", "conversation_id", "session_id")
_EXAMPLE = {"id", "metadata", "created_at", "modified_at", "dataset_id", "split", "source_run_id"}
"""What an example may have beside its inputs and outputs."""


class _Run(msgspec.Struct):
    inputs: Any
    outputs: Any = None
    id: str | None = None
    name: str | None = None
    run_type: str | None = None
    start_time: str | int | float | None = None
    end_time: str | int | float | None = None
    trace_id: str | None = None
    dotted_order: str | None = None
    parent_run_id: str | None = None
    extra: Any = None
    feedback_stats: Any = None

    @property
    def scores(self) -> list[dict[str, Any]]:
        stats = parse_json_value(self.feedback_stats)
        return [
            {"name": key, "value": stat["avg"]}
            for key, stat in (stats.items() if isinstance(stats, dict) else ())
            if isinstance(stat, dict) and isinstance(stat.get("avg"), int | float)
        ]

    @property
    def thread(self) -> str | None:
        match parse_json_value(self.extra):
            case {"metadata": dict(metadata)}:
                return next((str(metadata[name]) for name in _THREAD if metadata.get(name)), None)
        return None

    def call(
        self, conversation: str, place: SourceLocation, scores: Sequence[dict[str, Any]]
    ) -> ModelCall | tuple[str, DatasetError]:
        try:
            messages = messages_in(self.inputs, place, "inputs")
            answers = messages_in(self.outputs, place, "outputs", "assistant")
        except DatasetError as error:
            return conversation, error
        # A graph gives back all that was said, the question among it.
        asked = [number for number, one in enumerate(answers, 1) if one.role == "user"]
        call = ModelCall(
            conversation=conversation,
            started=self.dotted_order or str(self.start_time or ""),
            place=place,
            messages=messages,
            answers=answers[max(asked, default=0) :],
            scores=scores,
        )
        call.set_times(self.start_time, self.end_time)
        return call


@dataclass(frozen=True, slots=True, kw_only=True)
class LangSmithReader:
    """Reads runs of LangSmith, one conversation a thread or trace. All runs are held in memory."""

    name: str | None = None
    """Only runs of this name are calls, where a program also asks a model for other things."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first row is a run, or an example of a data set of chats."""
        found = outline(head)
        return any(
            ({"run_type", "inputs"} <= found.get(at, frozenset()) and not found[at] & _OTHERS)
            or has_only(found.get(at), required={"inputs", "outputs"}, optional=_EXAMPLE)
            for at in ("", "[]")
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations in order of first appearance, after the errors of what can't be read.

        Raises:
            DatasetError: the file can't be opened, or has no call of a model.
        """
        runs, faults = partition_rows(rows_of_any(path, _Run))
        yield from faults
        calls = self._calls(runs)
        if not calls and not faults:
            wanted = f'called "{self.name}"' if self.name else "of the type llm, and no root run"
            raise DatasetError(f"has no run {wanted}", path=str(path))
        scores: dict[str, list[dict[str, Any]]] = {}  # what people say mostly stands at a thread's root runs
        for conversation, _, run in self._threads(runs):
            scores.setdefault(conversation, []).extend(run.scores)
        yield from conversations_of(
            run.call(conversation, place, scores[conversation]) for conversation, place, run in calls
        )

    @staticmethod
    def _threads(runs: Sequence[tuple[SourceLocation, _Run]]) -> list[tuple[str, SourceLocation, _Run]]:
        """Return each run with the conversation that it belongs to."""
        threads = {run.trace_id: run.thread for _, run in runs if run.trace_id and run.thread}
        found = []
        for place, run in runs:
            own = run.trace_id or run.id or f"{place.path.name}:{place.item or place.line}"
            found.append((run.thread or threads.get(run.trace_id or "") or own, place, run))
        return found

    def _calls(self, runs: Sequence[tuple[SourceLocation, _Run]]) -> list[tuple[str, SourceLocation, _Run]]:
        found = self._threads(runs)
        if self.name is not None:
            return [one for one in found if one[2].name == self.name]
        of_models = {conversation for conversation, _, run in found if run.run_type == "llm"}
        return [
            one
            for one in found
            if (one[2].run_type == "llm" if one[0] in of_models else one[2].parent_run_id is None)
        ]
