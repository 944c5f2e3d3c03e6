"""
Traces of OpenTelemetry as OTLP JSON, with the semantic conventions for generative AI.

As a collector's file exporter writes them, one export a line, or one export as a whole file. The attributes
are those of https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans (since v1.37):
``gen_ai.conversation.id``, ``gen_ai.system_instructions``, ``gen_ai.input.messages`` and
``gen_ai.output.messages``, on a span or on its event ``gen_ai.client.inference.operation.details``, as values
or as JSON text.

- Spans with the same conversation id are one conversation, in the order in which they started. A span without
  one has that of its trace, and a trace without one is a conversation of its own.
- Calls of models count. Spans of agents, which repeat what their calls of models have, count only in
  conversations without any.
- Of several choices the first is the answer, as the program had to take one.
- Events ``gen_ai.evaluation.result`` on these spans are kept in the metadata, as ``scores``: each with
  ``name`` and the label, or else the score, as ``value``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.chat_log import ParsedMessage
from replay.datasets.data_file import SourceLocation
from replay.datasets.json_rows import outline, partition_rows, rows_of_objects
from replay.datasets.model_calls import ModelCall, TracedMessage, conversations_of, messages_in

_CONVERSATION = "gen_ai.conversation.id"
_INSTRUCTIONS = "gen_ai.system_instructions"
_INPUT = "gen_ai.input.messages"
_OUTPUT = "gen_ai.output.messages"
_EVALUATION = "gen_ai.evaluation"
_NO_MODEL = ("invoke_agent", "create_agent", "invoke_workflow", "execute_tool", "embeddings", "retrieval")


class _Attribute(msgspec.Struct):
    key: str
    value: Any = None


class _Event(msgspec.Struct):
    attributes: list[_Attribute] = []


class _Span(msgspec.Struct):
    traceId: str
    spanId: str = ""
    startTimeUnixNano: str | int = 0
    endTimeUnixNano: str | int = 0
    attributes: list[_Attribute] = []
    events: list[_Event] = []


class _Scope(msgspec.Struct):
    spans: list[_Span] = []


class _Resource(msgspec.Struct):
    scopeSpans: list[_Scope] = []


class _Export(msgspec.Struct):
    resourceSpans: list[_Resource] | None = None
    resourceLogs: Any = None
    resourceMetrics: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _MessageSpan:
    """A span that has messages."""

    span: _Span
    attributes: Mapping[str, Any]
    place: SourceLocation
    conversation: str

    @property
    def is_of_a_model(self) -> bool:
        return self.attributes.get("gen_ai.operation.name") not in _NO_MODEL

    def call(self) -> ModelCall:
        """
        Raises:
            DatasetError: an attribute isn't what the conventions say, or a time is none.
        """
        started = self._seconds("startTimeUnixNano")
        ended = self._seconds("endTimeUnixNano")
        messages = self._messages(_INPUT, "user")
        answers = self._messages(_OUTPUT, "assistant")[:1]
        if told := self._messages(_INSTRUCTIONS, "system"):
            said = ParsedMessage(texts=[text for part in told for text in part.said.texts])
            said.left_out = sum((part.said.left_out for part in told), said.left_out)
            messages.insert(0, TracedMessage("system", said))
        call = ModelCall(
            conversation=self.conversation,
            started=started,
            place=self.place,
            messages=messages,
            answers=answers,
            scores=list(_scores(self.span)),
        )
        call.set_times(started or None, ended or None)
        return call

    def _messages(self, name: str, role: str) -> list[TracedMessage]:
        return messages_in(self.attributes.get(name), self.place, self._at(name), role)

    def _at(self, name: str) -> str:
        return f"span {self.span.spanId}, {name}" if self.span.spanId else name

    def _seconds(self, name: str) -> float:
        try:
            return int(getattr(self.span, name)) / 1e9
        except ValueError as error:
            raise self.place.error("is not a whole number of nanoseconds", self._at(name)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpReader:
    """Reads traces with the messages of models, one conversation an id. All spans are held in memory."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether it is an OTLP export of spans, logs or metrics, which may be mixed in one file."""
        keys = outline(head).get("", frozenset())
        return bool(keys) and keys <= {*_Export.__struct_fields__}

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations in order of first appearance, after the errors of what can't be read.

        Raises:
            DatasetError: the file can't be opened, or has no messages in any span.
        """
        exports, faults = partition_rows(_exports(path))
        yield from faults
        given = _message_spans(
            [
                (place, span, _attributes(span))
                for place, export in exports
                for resource in export.resourceSpans or ()
                for scope in resource.scopeSpans
                for span in scope.spans
            ]
        )
        if not given and not faults:
            raise DatasetError(
                f"has no span with {_INPUT}; instrumentations leave messages out unless they are told to "
                "keep them, most by OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
                path=str(path),
            )
        yield from conversations_of(_calls(given))


def _exports(path: Path) -> Iterator[tuple[SourceLocation, _Export | DatasetError]]:
    for place, row in rows_of_objects(path, _Export):
        is_empty = isinstance(row, _Export) and row == _Export()
        yield place, place.error("is required but missing", "resourceSpans") if is_empty else row


def _message_spans(spans: Sequence[tuple[SourceLocation, _Span, dict[str, Any]]]) -> list[_MessageSpan]:
    by_trace = {
        span.traceId: str(attributes[_CONVERSATION])
        for _, span, attributes in spans
        if attributes.get(_CONVERSATION)
    }
    found = [
        _MessageSpan(
            span=span,
            attributes=attributes,
            place=place,
            conversation=str(attributes.get(_CONVERSATION) or by_trace.get(span.traceId, span.traceId)),
        )
        for place, span, attributes in spans
        if _INPUT in attributes or _OUTPUT in attributes
    ]
    with_models = {one.conversation for one in found if one.is_of_a_model}
    return [one for one in found if one.is_of_a_model or one.conversation not in with_models]


def _calls(given: Iterable[_MessageSpan]) -> Iterator[ModelCall | tuple[str, DatasetError]]:
    for one in given:
        try:
            yield one.call()
        except DatasetError as error:
            yield one.conversation, error


def _scores(span: _Span) -> Iterator[dict[str, Any]]:
    for event in span.events:
        attributes = {one.key: _plain(one.value) for one in event.attributes}
        value = attributes.get(f"{_EVALUATION}.score.label", attributes.get(f"{_EVALUATION}.score.value"))
        if (name := attributes.get(f"{_EVALUATION}.name")) and value is not None:
            yield {"name": str(name), "value": value}


def _attributes(span: _Span) -> dict[str, Any]:
    listed = [attribute for event in span.events for attribute in event.attributes] + span.attributes
    return {one.key: _plain(one.value) for one in listed if one.key.startswith("gen_ai.")}


def _plain(value: Any) -> Any:
    """Return the JSON value that *value*, an ``AnyValue`` of OTLP, stands for."""
    match value:
        case {"arrayValue": {"values": list(values)}}:
            return [_plain(one) for one in values]
        case {"kvlistValue": {"values": list(pairs)}}:
            return {
                str(pair.get("key")): _plain(pair.get("value")) for pair in pairs if isinstance(pair, dict)
            }
        case {"arrayValue": _}:
            return []
        case {"kvlistValue": _}:
            return {}
        case dict() if len(value) == 1:
            return next(iter(value.values()))
    return None
