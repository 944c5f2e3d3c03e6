"""
Scores, verdicts and checks as events ``gen_ai.evaluation.result``, which the conventions have.

An event is a log record with the ids of what it is about: a trace's spans are sent as they come, long before
anything is scored. It belongs to the ask that was answered, or to the play where it is about all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from replay.core.record import TurnRecord
from replay.core.trace_ids import PlayTrace, RunTraces
from replay.integrations.otel.spans import (
    SCOPE,
    Attributes,
    context_of,
    known,
    place_attributes,
    turn_span_id,
)
from replay.results.run import Run
from replay.results.scoring import stored_columns
from replay.statistics.score_column import ScoreColumn
from replay.store.store import RunStore

NAME = "gen_ai.evaluation.result"
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
        explained = self._explained()
        for index, record, columns in self._scored():
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

    def _scored(self) -> Iterator[tuple[int, TurnRecord, Mapping[str, ScoreColumn]]]:
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

    def _explained(self) -> Mapping[tuple[str, Place], str]:
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
            NonRecordingSpan(context_of(trace, self._judged(trace, record, attributes)))
        )
        now = self.clock()
        return ReadableLogRecord(
            LogRecord(
                timestamp=now,
                observed_timestamp=now,
                context=context,
                severity_number=SeverityNumber.INFO,
                attributes=known(
                    {
                        **place_attributes(record, self.run.folder.name),
                        "convreplay.depth": record.depth,
                        **attributes,
                    }
                ),
                event_name=NAME,
            ),
            self.resource,
            SCOPE,
        )

    @staticmethod
    def _judged(trace: PlayTrace, record: TurnRecord, attributes: Mapping[str, Any]) -> str:
        if attributes.get("convreplay.check.at_end"):
            return trace.span()
        if record.outcome != "answered" or record.timing is None:
            return turn_span_id(trace, record)
        return trace.span(record.depth, record.asks - 1, record.started_at)
