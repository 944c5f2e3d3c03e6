"""
Exports a run, while it is played or after: its database is the queue.

So nothing waits for a collector, nothing is lost where one is away, and what was not sent then can be sent
later. Spans go out as turns become durable; the span around a play with its last turn.

Scores, verdicts and checks go out as events ``gen_ai.evaluation.result``, which the conventions have. An
event is a log record with the ids of what it is about: a trace's spans are sent as they come, long before
anything is scored. It belongs to the ask that was answered, or to the play where it is about all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Timer
from time import time_ns
from typing import Any, TypeVar

from msgspec.structs import replace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from replay.core.record import TurnRecord
from replay.core.trace_ids import PlayTrace, RunTraces
from replay.integrations.otel.destinations import Collector, Destination, JsonLinesFile
from replay.integrations.otel.spans import (
    SCOPE,
    Attributes,
    RunSpans,
    TracedTurn,
    context_of,
    known_attributes,
    place_attributes,
    resource,
    turn_span_id,
)
from replay.play.player import is_over
from replay.results.late_drift import first_row_without_drift
from replay.results.run import Run
from replay.results.scoring import stored_columns
from replay.results.telemetry import LAST_WAIT_S, Export
from replay.statistics.score_column import ScoreColumn
from replay.store.reader import RunReader
from replay.store.store import RunStore

_RESULT_EVENT = "gen_ai.evaluation.result"
Place = tuple[str, str, str, int]
_TEXTS: Attributes = {"recorded": "", "asked": "", "answer": None, "passages": (), "steps": (), "drift": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """Makes the events of one run."""

    resource: Resource
    run: Run
    traces: RunTraces
    content: bool
    """They have explanations, which quote answers."""
    clock: Callable[[], int]
    """Gives nanoseconds since 1970."""

    def events(self) -> Iterator[ReadableLogRecord]:
        """Yield the events of all turns of sampled plays, turn after turn."""
        checks: dict[Place, list[Attributes]] = {}
        of_checks: set[str] = set()
        for check in self.run.checks():
            of_checks |= {*check.columns}
            if check.passed is not None:
                found = {
                    "gen_ai.evaluation.name": check.called or check.kind,
                    "gen_ai.evaluation.score.value": float(check.passed),
                    "gen_ai.evaluation.score.label": "pass" if check.passed else "fail",
                    "gen_ai.evaluation.explanation": f"{check.rule}: {check.evidence or check.verdict}",
                    "convreplay.check.at_end": check.at_end,
                }
                place = (check.conversation, check.system, check.policy, check.depth)
                checks.setdefault(place, []).append(found)
        explained = self._replies_of_judges()
        for index, record, columns in self._scored_turns():
            trace = self.traces.of(record.conversation, record.system, record.policy)
            place = (record.conversation, record.system, record.policy, record.depth)
            for name, column in columns.items():
                if name not in of_checks and column.is_scored(index):
                    found = {
                        "gen_ai.evaluation.name": name,
                        "gen_ai.evaluation.score.value": column.value([index]),
                        "gen_ai.evaluation.explanation": explained.get((name, place)),
                        "convreplay.score.unit": column.unit or None,
                    }
                    yield self._event(trace, record, found)
            for found in checks.get(place, ()):
                yield self._event(trace, record, found)

    def _scored_turns(self) -> Iterator[tuple[int, TurnRecord, Mapping[str, ScoreColumn]]]:
        """
        Yield the turns of sampled plays, with the scores of all of them and the place of theirs among these.
        """
        scorers = self.run.scorers()
        with closing(RunStore(self.run.folder)) as store:
            plays = store.rows("SELECT DISTINCT conversation, system, policy FROM turn")
            sampled = [play for play in plays if self.traces.of(*play).sampled]
            # Without their texts, so that a large run doesn't fill the memory.
            records = [replace(one, **_TEXTS) for play in sampled for one in store.records_of(*play)]
            columns = stored_columns(store, records, scorers)
        return ((index, record, columns) for index, record in enumerate(records))

    def _replies_of_judges(self) -> Mapping[tuple[str, Place], str]:
        """Return the judges' replies, by column and turn."""
        found: dict[tuple[str, Place], str] = {}
        for judged in self.run.judged() if self.content else ():
            for verdict in self.run.verdicts(judged.name):
                votes = [vote for repeat in verdict.data["repeats"] for vote in repeat["votes"]]
                said = [ask["text"] for vote in votes for ask in vote["asks"] if ask["text"]]
                place = (verdict.conversation, verdict.system, verdict.policy, verdict.depth)
                for column in judged.units:
                    found[column, place] = "\n\n".join(dict.fromkeys(said))
        return found

    def _event(self, trace: PlayTrace, record: TurnRecord, attributes: Attributes) -> ReadableLogRecord:
        if not self.content:
            attributes.pop("gen_ai.evaluation.explanation", None)
        context = set_span_in_context(
            NonRecordingSpan(context_of(trace, self._span_of_result(trace, record, attributes)))
        )
        now = self.clock()
        return ReadableLogRecord(
            LogRecord(
                timestamp=now,
                observed_timestamp=now,
                context=context,
                severity_number=SeverityNumber.INFO,
                attributes=known_attributes(
                    {
                        **place_attributes(record, self.run.folder.name),
                        "convreplay.depth": record.depth,
                        **attributes,
                    }
                ),
                event_name=_RESULT_EVENT,
            ),
            self.resource,
            SCOPE,
        )

    @staticmethod
    def _span_of_result(trace: PlayTrace, record: TurnRecord, attributes: Mapping[str, Any]) -> str:
        if attributes.get("convreplay.check.at_end"):
            return trace.span()
        if record.outcome != "answered" or record.timing is None:
            return turn_span_id(trace, record)
        return trace.span(record.depth, record.asks - 1, record.started_at)


T = TypeVar("T")
Play = tuple[str, str, str]
AT_ONCE = 512
"""Spans or events of one export, and turns that are read together."""


def exporters(folder: Path, export: Export) -> list[RunExporter]:
    """Return the exporters of the run in *folder*: to a collector, into a stream, or both."""
    found: list[Destination] = [Collector(export.endpoint)] if export.is_sent else []
    if export.stream is not None:
        found.append(JsonLinesFile(export.stream))
    return [RunExporter(folder, destination, export) for destination in found]


class RunExporter:
    """Sends one run to one destination."""

    def __init__(
        self,
        folder: Path,
        destination: Destination,
        export: Export,
        *,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        self._folder = folder
        self._destination = destination
        self._since = export.since
        run = Run(folder)
        scenario = run.scenario().scenario
        own = resource(run.id, folder.name)
        self._traces = RunTraces(run.id, export.sample)
        self._spans = RunSpans(own, folder.name, scenario, content=export.content)
        self._results = RunResults(
            resource=own, run=run, traces=self._traces, content=export.content, clock=clock
        )
        self._on_failure = scenario.play.on_failure
        self._reader = RunReader(folder)
        self._histories = self._reader.required_fact("histories")
        self._keeps_history = self._reader.required_fact("keeps_history")
        self._row = 0
        """The last turn that was sent."""
        self._open: dict[Play, None] = {}
        """Plays of which turns were sent, and not yet the span around them."""
        self._has_worked = False

    def poll(self) -> bool:
        """
        Send the turns stored since the last look; returns whether all of them are there.

        As far as they are complete: a turn whose drift is detected later waits for that, and so do those
        after it.
        """
        return self._send(first_row_without_drift(self._reader, self._row))

    def _send(self, before: int | None) -> bool:
        return all(self._send_spans(spans, row) for row, spans in self._new(before))

    def give_up(self) -> None:
        """Wait no longer for who has taken nothing yet."""
        if not self._has_worked:
            self.stop()

    def stop(self) -> None:
        """Send nothing more to who may keep us waiting; a file gets all."""
        self._destination.close()

    def finish(self, *, finished: bool) -> str | None:
        """
        Send what is left, for a last time; of a *finished* run scores as well.

        Returns a sentence about what could not be sent.
        """
        giving_up = Timer(LAST_WAIT_S, self.give_up)
        giving_up.start()
        try:
            lost = self._lost_of(finished=finished)
        finally:
            giving_up.cancel()
            self._reader.close()
            self._destination.close()
        if not any(lost):
            return None
        spans, events = lost
        where = self._destination
        return (
            f"{spans:,} spans and {events:,} scores were not sent to {where.name}: "
            f"{where.problem or 'it takes nothing'}; they are in the run, and can be exported later: "
            f"replay export {self._folder} --table spans"
        )

    def _lost_of(self, *, finished: bool) -> tuple[int, int]:
        """Return how many spans and events could not be sent."""
        is_there = self._send(None)
        spans = 0 if is_there else sum(len(spans) for _, spans in self._new())
        if not finished:
            return spans, 0
        for around in in_parts(self._left_open()):
            is_there = is_there and self._destination.take_spans(around)
            spans += 0 if is_there else len(around)
        events = 0
        for some in in_parts(self._results.events()):
            is_there = is_there and self._destination.take_events(some)
            events += 0 if is_there else len(some)
        return spans, events

    def _send_spans(self, spans: Sequence[ReadableSpan], row: int) -> bool:
        if not all(self._destination.take_spans(some) for some in in_parts(spans)):
            return False
        self._row, self._has_worked = row, self._has_worked or bool(spans)
        return True

    def _new(self, before: int | None = None) -> Iterator[tuple[int, list[ReadableSpan]]]:
        """
        Yield the spans of turns that were not sent yet, some at a time, each time with the last turn's row:
        all, or those *before* a row.
        """
        columns = "rowid, conversation, system, policy, depth"
        which = "rowid > ? AND rowid < ? AND coalesce(started_at, 0) >= ? ORDER BY rowid LIMIT ?"
        row, end = self._row, sys.maxsize if before is None else before
        while rows := list(
            self._reader.rows(f"SELECT {columns} FROM turn WHERE {which}", [row, end, self._since, AT_ONCE])
        ):
            plays: dict[Play, set[int]] = {}
            for row, conversation, system, policy, depth in rows:  # noqa: B007 - the last one counts
                plays.setdefault((conversation, system, policy), set()).add(depth)
            spans = [span for play, depths in plays.items() for span in self._of(play, depths)]
            yield row, spans

    def _of(self, play: Play, depths: set[int]) -> Iterator[ReadableSpan]:
        trace = self._traces.of(*play)
        if not trace.sampled:
            return
        records = self._reader.records_of(*play)
        conversation = self._reader.conversation(records[0].recorded_conversation)
        _, system, policy = play
        for place, record in enumerate(records):
            if record.depth in depths:
                turn = TracedTurn(
                    record=record,
                    conversation=conversation,
                    before=records[:place],
                    history_shown=self._histories[system][policy],
                    keeps_history=system in self._keeps_history,
                )
                yield from self._spans.of_turn(trace, turn)
        if is_over(conversation, records, self._on_failure):
            self._open.pop(play, None)
            yield self._spans.of_play(trace, records)
        else:
            self._open[play] = None

    def _left_open(self) -> Iterator[ReadableSpan]:
        """Around plays that were not played to their end, as a load's are when its time is over."""
        for play in self._open:
            yield self._spans.of_play(self._traces.of(*play), self._reader.records_of(*play))


def in_parts(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, AT_ONCE)):
        yield part
