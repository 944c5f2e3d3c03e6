"""
A run's records as spans: a play, its turns, and their asks, one by one: when, and with which messages.

By the semantic conventions for generative AI of OpenTelemetry
(https://github.com/open-telemetry/semantic-conventions-genai), which are in development: the last release
that has them is v1.41 of the semantic conventions. What they have no name for is called ``convreplay.*``.

Spans are made of records that are durable, not while they last, so that exporting is no part of playing; and
their ids are hashes (``core.trace_ids``). So they are made directly, as exporters take them: a tracer of the
SDK would draw ids by lot.

Where the caller keeps the history each ask sent all of it, and where the system does, the question alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from replay import __version__
from replay.core.conversation import Conversation
from replay.core.history import with_recorded_context
from replay.core.message import Message, ToolCall, question_messages
from replay.core.record import TurnRecord
from replay.core.trace_ids import PlayTrace
from replay.play.turn_record import played_turn, unasked_turn
from replay.scenario.sections import Scenario, SystemSection
from replay.scorers.judges.judge import Case, HistoryShown


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTurn:
    """A turn, and what it has to be seen with."""

    record: TurnRecord
    conversation: Conversation
    before: Sequence[TurnRecord]
    """The play's earlier records, by depth."""
    history_shown: HistoryShown
    keeps_history: bool
    """The system keeps it."""

    def sent_messages(self) -> tuple[Message, ...]:
        """Return the messages that put the question, and those before it that were sent along."""
        turn = self.conversation.turns[self.record.depth - 1]
        earlier = self.conversation.turns[: self.conversation.asked_from - 1]
        played = [*map(unasked_turn, earlier), *(played_turn(self.conversation, one) for one in self.before)]
        records = (*self.before, self.record)
        case = Case(conversation=self.conversation, records=records, history_shown=self.history_shown)
        history, asked_with = with_recorded_context(case.history, played, turn)
        question = question_messages(self.record.asked, asked_with)
        if self.keeps_history:
            return question
        return (*(message for exchange in history for message in exchange.messages), *question)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedAsk:
    """One ask of a turn, or one call of a tool between two."""

    begin_s: float
    end_s: float
    """Since the engine started."""
    number: int
    """Of the ask, from 0; of a tool's call the message's among the turn's steps."""
    steps: int
    """Messages of the turn before it."""
    reply: Message | None = None
    """What it brought; None of the ask that ended the turn."""
    tool: ToolCall | None = None
    """What was called, where it is no ask."""


def asks_of(record: TurnRecord) -> Iterator[TracedAsk]:
    """
    Yield the asks of *record* and the calls of tools between them, in order; none where nothing was asked.
    """
    timing, times = record.timing, record.step_times_s
    if timing is None:
        return
    if not times:
        yield TracedAsk(begin_s=timing.sent_s, end_s=timing.done_s, number=0, steps=0)
        return
    # An answer's own steps, which have no times, stand behind those of the turn.
    has_last = record.outcome == "answered" or len(times) > len(record.steps)
    number, calls, steps = 0, dict[str | None, ToolCall](), len(times) - has_last
    for place, message in enumerate(record.steps[:steps]):
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "user":  # what is said to a reply is no ask of the system, the one after it is
            continue
        if times[place] in times[place + 1 : steps]:  # what the system called by itself came with its reply
            continue
        begin_s, end_s = (timing.sent_s + moment for moment in times[place])
        tool = calls.get(message.tool_call_id) if message.role == "tool" else None
        yield TracedAsk(
            begin_s=begin_s,
            end_s=end_s,
            number=place if tool else number,
            steps=place,
            reply=message,
            tool=tool,
        )
        number += tool is None
    if has_last:
        begin_s, end_s = (timing.sent_s + moment for moment in times[-1])
        yield TracedAsk(begin_s=begin_s, end_s=end_s, number=number, steps=steps)


SCOPE: InstrumentationScope = InstrumentationScope(
    "convreplay", __version__, "https://opentelemetry.io/schemas/1.41.0"
)
Attributes = dict[str, Any]
SENT_AS = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty")
"""Settings of a model that the conventions have as ``gen_ai.request.*``."""


def known_attributes(attributes: Mapping[str, Any]) -> Attributes:
    """Return the *attributes* that have a value, with texts that can be encoded for sending."""
    return {
        name: encodable(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def encodable(text: str) -> str:
    """
    Return *text* with a question mark for each half of a surrogate pair, which Protocol Buffers can't hold.
    """
    return text.encode("utf-8", "replace").decode()


def place_attributes(record: TurnRecord, run_name: str) -> Attributes:
    """
    Return the attributes that identify a play.

    Its ``gen_ai.conversation.id`` is unique to the play, since others replay the same conversation.
    """
    session = f"{record.conversation}/{record.system}/{record.policy}/{run_name}"
    return {
        "gen_ai.conversation.id": session,
        "convreplay.conversation.id": record.recorded_conversation,
        "convreplay.system": record.system,
        "convreplay.policy": record.policy,
        "convreplay.repeat": record.repeat,
    }


def system_attributes(system: SystemSection) -> Attributes:
    """Return the attributes that the conventions define for a *system*, as far as its settings give them."""
    settings = system.settings
    extra = settings.get("extra")
    given = {**(extra if isinstance(extra, Mapping) else {}), **settings}
    found: Attributes = {"gen_ai.provider.name": system.adapter.partition(":")[0]}
    if isinstance(model := settings.get("model"), str):
        found["gen_ai.request.model"] = model
    for name in SENT_AS:
        value = given.get(name)
        if isinstance(value, int | float):
            found[f"gen_ai.request.{name}"] = value if name == "max_tokens" else float(value)
    address = settings.get("base_url", settings.get("url"))
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
        host, port = parts.hostname, parts.port
    except ValueError:  # a template in the place of the port
        return found
    if host and "{" not in host:
        found["server.address"] = host
        found["server.port"] = port or (443 if parts.scheme in ("https", "wss") else 80)
    return found


def message_parts(message: Message) -> dict[str, Any]:
    """Return *message* as the conventions' JSON schema has it."""
    parts: list[dict[str, Any]] = []
    if message.role == "tool":
        given = {"id": message.tool_call_id} if message.tool_call_id else {}
        parts.append({"type": "tool_call_response", **given, "response": message.text})
    elif message.text or not message.tool_calls:
        parts.append({"type": "text", "content": message.text})
    for call in message.tool_calls:
        arguments = call.parsed_arguments
        parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    return {"role": message.role, "parts": parts}


def resource(run: str, name: str) -> Resource:
    """
    Return the resource that exports: this program, with the run's id and *name*.

    Variables such as ``OTEL_SERVICE_NAME`` override it.
    """
    ours = {
        "service.name": "convreplay",
        "service.version": __version__,
        "convreplay.run.id": run,
        "convreplay.run.name": name,
    }
    return Resource.create(ours).merge(OTELResourceDetector().detect())


def context_of(trace: PlayTrace, span: str) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace.id, 16), int(span, 16), is_remote=False, trace_flags=flags)


def turn_span_id(trace: PlayTrace, record: TurnRecord) -> str:
    return trace.span(record.depth, None, record.started_at)


class RunSpans:
    """Makes the spans of one run."""

    def __init__(self, resource: Resource, name: str, scenario: Scenario, *, content: bool) -> None:
        """*name* is the run's; with *content* spans have questions, answers and errors in them."""
        self._resource = resource
        self._name = name
        self._content = content
        self._systems = {one.name: system_attributes(one) for one in scenario.systems}

    def of_play(self, trace: PlayTrace, records: Sequence[TurnRecord]) -> ReadableSpan:
        """Return the span around all *records* of a play, which are in order of depth."""
        times = [moments(records, place) for place in range(len(records))]
        more = {"convreplay.turns": len(records)}
        begin, end = min(begin for begin, _ in times), max(end for _, end in times)
        failed = records[-1].outcome if records[-1].failed else None
        return self._span("play", trace, trace.span(), None, begin, end, records[-1], more, error=failed)

    def of_turn(self, trace: PlayTrace, turn: TracedTurn) -> Iterator[ReadableSpan]:
        """Yield the spans of *turn*: itself, its asks, and the calls of tools between them."""
        record, own = turn.record, turn_span_id(trace, turn.record)
        begin, end = moments((*turn.before, record), len(turn.before))
        failed = record.outcome if record.failed else None
        more = self._turn_attributes(record)
        events = list(self._drift_events(record, end))
        name = f"turn {record.depth}"
        yield self._span(
            name, trace, own, trace.span(), begin, end, record, more, events=events, error=failed
        )
        asks = list(asks_of(record))
        for ask in asks:
            number = f"tool {ask.number}" if ask.tool else ask.number
            span = trace.span(record.depth, number, record.started_at)
            make = self._tool_attributes if ask.tool else self._ask_attributes
            name, more = make(turn, ask, is_only=len(asks) == 1)
            ended = failed if ask.reply is None else None
            kind = SpanKind.INTERNAL if ask.tool else SpanKind.CLIENT
            at = (nanoseconds(record, ask.begin_s), nanoseconds(record, ask.end_s))
            yield self._span(name, trace, span, own, *at, record, more, kind=kind, error=ended)

    def _span(
        self,
        name: str,
        trace: PlayTrace,
        own: str,
        parent: str | None,
        begin: int,
        end: int,
        record: TurnRecord,
        attributes: Attributes,
        *,
        events: Sequence[Event] = (),
        kind: SpanKind = SpanKind.INTERNAL,
        error: str | None = None,
    ) -> ReadableSpan:
        why = record.error if self._content else None
        return ReadableSpan(
            name,
            context_of(trace, own),
            None if parent is None else context_of(trace, parent),
            self._resource,
            known_attributes({**place_attributes(record, self._name), **attributes, "error.type": error}),
            events,
            kind=kind,
            status=Status(StatusCode.ERROR, why and encodable(why)) if error else Status(),
            start_time=begin,
            end_time=end,
            instrumentation_scope=SCOPE,
        )

    def _turn_attributes(self, record: TurnRecord) -> Attributes:
        drift = record.drift
        found: Attributes = {
            "convreplay.depth": record.depth,
            "convreplay.turn.id": record.turn,
            "convreplay.edit": record.edit,
            "convreplay.outcome": record.outcome,
            "convreplay.attempts": record.attempts,
            "convreplay.asks": record.asks,
            "convreplay.cached": record.cached,
            "convreplay.cost_usd": record.cost_usd,
            "convreplay.history_cut": record.history_cut,
        }
        if drift is not None:
            found["convreplay.drift.valid"] = drift.valid
            found["convreplay.drift.mode"] = drift.mode
            found["convreplay.drift.probability"] = drift.probability
            found["convreplay.drift.mentions"] = len(drift.mentions)
            found["convreplay.drift.not_judged"] = drift.kind_not_judged if drift.valid is None else None
        if record.asks > 1 and record.usage is not None:  # of one ask they are that one's
            found["convreplay.usage.input_tokens"] = record.usage.prompt_tokens
            found["convreplay.usage.output_tokens"] = record.usage.completion_tokens
        if self._content:
            found["convreplay.question.recorded"] = record.recorded
            found["convreplay.question.asked"] = record.asked
        return found

    def _drift_events(self, record: TurnRecord, at: int) -> Iterator[Event]:
        """Yield an event for each mention that means something else, or nothing any more."""
        for mention in record.drift.mentions if record.drift else ():
            if mention.state not in ("drifted", "lost"):
                continue
            found: Attributes = {
                "convreplay.mention.state": mention.state,
                "convreplay.mention.kind": mention.gold.mention.kind,
                "convreplay.mention.probability": mention.probability,
            }
            if self._content:
                found["convreplay.mention.text"] = mention.gold.mention.text
                found["convreplay.mention.gold"] = mention.gold.antecedent or ""
                found["convreplay.mention.own"] = mention.predicted.antecedent or ""
            yield Event("convreplay.drift", known_attributes(found), at)

    def _ask_attributes(self, turn: TracedTurn, ask: TracedAsk, *, is_only: bool) -> tuple[str, Attributes]:
        record = turn.record
        found = {"gen_ai.operation.name": "chat", **self._systems.get(record.system, {})}
        if (
            is_only and record.usage is not None
        ):  # of several asks the record has the sum, which is the turn's
            found["gen_ai.usage.input_tokens"] = record.usage.prompt_tokens
            found["gen_ai.usage.output_tokens"] = record.usage.completion_tokens
            found["gen_ai.usage.cache_read.input_tokens"] = record.usage.cached_prompt_tokens
        first = record.timing.first_token_s if record.timing else None
        if ask.reply is None and first is not None:
            found["gen_ai.request.stream"] = True
            found["gen_ai.response.time_to_first_chunk"] = first - ask.begin_s
        if self._content:
            sent = (*turn.sent_messages(), *record.steps[: ask.steps])
            found["gen_ai.input.messages"] = json.dumps(
                [message_parts(one) for one in sent], ensure_ascii=False
            )
            answer = ask.reply
            if answer is None and record.answer is not None:
                answer = Message(role="assistant", text=record.answer)
            if answer is not None:
                finish = "tool_call" if answer.tool_calls else "stop"
                found["gen_ai.output.messages"] = json.dumps(
                    [{**message_parts(answer), "finish_reason": finish}], ensure_ascii=False
                )
        return f"chat {found.get('gen_ai.request.model', record.system)}", found

    def _tool_attributes(self, turn: TracedTurn, ask: TracedAsk, *, is_only: bool) -> tuple[str, Attributes]:
        assert ask.tool is not None
        found: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": ask.tool.name,
            "gen_ai.tool.call.id": ask.tool.id,
            "gen_ai.tool.type": "function",
        }
        if self._content and ask.reply is not None:
            found["gen_ai.tool.call.arguments"] = ask.tool.arguments
            found["gen_ai.tool.call.result"] = ask.reply.text
        return f"execute_tool {ask.tool.name}", found


def nanoseconds(record: TurnRecord, since_start_s: float) -> int:
    """Return the moment in nanoseconds since 1970, before which OTLP knows none."""
    return max(0, round((record.started_at or 0.0) * 1e6) * 1000 + round(since_start_s * 1e9))


def moments(records: Sequence[TurnRecord], place: int) -> tuple[int, int]:
    """
    Begin and end of the turn at *place* among *records* of a play.

    One that was not asked took no time, and was where the one before it ended.
    """
    record = records[place]
    if record.timing is not None:
        return nanoseconds(record, record.timing.scheduled_s), nanoseconds(record, record.timing.done_s)
    ended = moments(records, place - 1)[1] if place else 0
    at = max(ended, nanoseconds(record, 0.0))
    return at, at
