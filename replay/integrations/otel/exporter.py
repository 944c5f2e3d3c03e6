"""
Exports a run, while it is played or after: its database is the queue.

So nothing waits for a collector, nothing is lost where one is away, and what was not sent then can be sent
later. Spans go out as turns become durable; the span around a play with its last turn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import Timer
from time import time_ns
from typing import TypeVar

from opentelemetry.sdk.trace import ReadableSpan

from replay.core.trace_ids import RunTraces
from replay.integrations.otel.asks import TracedTurn
from replay.integrations.otel.destinations import Collector, Destination, JsonLinesFile
from replay.integrations.otel.results import RunResults
from replay.integrations.otel.spans import RunSpans, resource
from replay.play.player import is_over
from replay.results.late_drift import first_row_without_drift
from replay.results.run import Run
from replay.results.telemetry import LAST_WAIT_S, Export
from replay.store.reader import RunReader

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
        self._histories = self._reader.needed("histories")
        self._keeps_history = self._reader.needed("keeps_history")
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
        return all(self._sent(spans, row) for row, spans in self._new(before))

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

    def _sent(self, spans: Sequence[ReadableSpan], row: int) -> bool:
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
