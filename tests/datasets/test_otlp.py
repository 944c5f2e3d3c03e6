"""Traces of OpenTelemetry, in the shapes that programs send to models."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import DatasetError
from replay.core.message import Message, ToolCall
from replay.datasets.otlp import OtlpReader
from tests.datasets.files import contract, fault, ids, json_file, json_lines_file, only, pairs


def text(role, content):
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def user(content):
    return text("user", content)


def assistant(content):
    return text("assistant", content) | {"finish_reason": "stop"}


def span(start, sent, answers, conversation="c", trace="t", operation="chat", **attributes):
    named = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": json.dumps(sent),
        "gen_ai.output.messages": json.dumps(answers),
        **attributes,
    }
    return {
        "traceId": trace,
        "spanId": f"s{start}",
        "startTimeUnixNano": f"{start}000000000",
        "endTimeUnixNano": f"{start}500000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in named.items() if v is not None],
    }


def export(*spans):
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}


WHO, OKAFOR, WHEN, THEN = user("Who?"), assistant("Okafor."), user("When?"), assistant("In 1987.")
FIRST = export(span(1, [WHO], [OKAFOR], "a"))
SECOND = export(span(2, [WHEN], [THEN], "b"))


TestOtlpReader = contract(
    OtlpReader(), "traces.jsonl", [FIRST, SECOND], [export(span(1, [{"role": 3}], [], "a")), SECOND]
)


def read(tmp_path, *spans):
    return only(OtlpReader(), json_lines_file(tmp_path / "t.jsonl", [export(one) for one in spans]))


BOTH = [("Who?", "Okafor."), ("When?", "In 1987.")]


@pytest.mark.parametrize(
    "sent",
    [
        [WHO, OKAFOR, WHEN],
        [WHEN],
        [OKAFOR, WHEN],
        [text("system", "Be brief."), WHO, text("assistant", "Okafor."), WHEN],
    ],
)
def test_a_history_sent_again_whole_in_part_or_not_at_all_counts_once(tmp_path, sent):
    assert pairs(read(tmp_path, span(1, [WHO], [OKAFOR]), span(2, sent, [THEN]))) == BOTH


def test_spans_are_put_in_the_order_in_which_they_started(tmp_path):
    found = read(tmp_path, span(10, [WHEN], [THEN]), span(9, [WHO], [OKAFOR]))

    assert pairs(found) == BOTH
    assert found.metadata == {"timestamps": [9.0, 10.0], "answer_timestamps": [9.5, 10.5]}


def test_times_stay_where_the_history_is_sent_again(tmp_path):
    found = read(tmp_path, span(9, [WHO], [OKAFOR]), span(10, [WHO, OKAFOR, WHEN], [THEN]))

    assert found.metadata == {"timestamps": [9.0, 10.0], "answer_timestamps": [9.5, 10.5]}


def test_a_question_that_is_asked_again_is_another_turn(tmp_path):
    found = read(
        tmp_path, span(1, [WHO], [OKAFOR]), span(2, [WHEN], [THEN]), span(3, [WHO], [assistant("Mira.")])
    )

    assert pairs(found) == [*BOTH, ("Who?", "Mira.")]


def test_a_call_that_tells_the_history_otherwise_is_taken_at_its_word(tmp_path):
    """As when the user stopped the answer half-way, or had another one made."""
    found = read(tmp_path, span(1, [WHO], [OKAFOR]), span(2, [WHO, assistant("Oka"), WHEN], [THEN]))

    assert pairs(found) == [("Who?", "Oka"), ("When?", "In 1987.")]


CALL = {"type": "tool_call", "id": "k", "name": "stock", "arguments": {"size": 42}}
RESULT = {"type": "tool_call_response", "id": "k", "response": {"pairs": 3}}


def test_calls_of_tools_are_steps(tmp_path):
    calling = {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, CALL]}
    returned = {"role": "tool", "parts": [RESULT]}
    found = read(
        tmp_path, span(1, [WHO], [calling]), span(2, [WHO, calling, returned], [OKAFOR], conversation=None)
    )

    (turn,) = found.turns
    assert turn.gold_answers == ("Okafor.",)
    assert turn.steps == (
        Message(
            role="assistant",
            tool_calls=(ToolCall(id="k", name="stock", arguments='{"size":42}'),),
            left_out=("reasoning",),
        ),
        Message(role="tool", text='{"pairs":3}', tool_call_id="k", name="stock"),
    )
    assert found.metadata["left_out"] == [{"reasoning": 1}]


def test_instructions_are_what_the_question_was_asked_with(tmp_path):
    def told(words):
        return {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": words}])}

    found = read(
        tmp_path,
        span(1, [WHO], [OKAFOR], **told("Be brief.")),
        span(2, [WHO, OKAFOR, WHEN], [THEN], **told("Be brief.")),
        span(3, [WHO, OKAFOR, WHEN, THEN, user("So?")], [assistant("So.")], **told("Be kind.")),
    )

    assert [[one.text for one in turn.asked_with] for turn in found.turns] == [
        ["Be brief."],
        [],
        ["Be kind."],
    ]
    assert found.background == ""


def test_a_trace_without_an_id_is_a_conversation_of_its_own(tmp_path):
    spans = [span(1, [WHO], [OKAFOR], None, "t1"), span(2, [WHO, OKAFOR, WHEN], [THEN], None, "t2")]
    path = json_file(tmp_path / "t.json", export(*spans))

    assert [(one.id, len(one.turns)) for one in OtlpReader().read(path)] == [("t1", 1), ("t2", 2)]


def test_agents_count_only_where_no_call_of_a_model_does(tmp_path):
    agent = span(3, [WHO], [assistant("Okafor, it seems.")], operation="invoke_agent")

    assert pairs(read(tmp_path, agent)) == [("Who?", "Okafor, it seems.")]
    assert pairs(read(tmp_path, agent, span(2, [WHO], [OKAFOR]))) == [("Who?", "Okafor.")]


def test_messages_may_be_values_and_stand_on_an_event(tmp_path):
    def any_value(value):
        match value:
            case dict():
                pairs = [{"key": key, "value": any_value(one)} for key, one in value.items()]
                return {"kvlistValue": {"values": pairs}}
            case list():
                return {"arrayValue": {"values": [any_value(one) for one in value]}}
        return {"stringValue": value}

    attributes = [
        {"key": "gen_ai.input.messages", "value": any_value([WHO])},
        {"key": "gen_ai.output.messages", "value": any_value([OKAFOR, assistant("Another choice.")])},
    ]
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": attributes}

    assert pairs(read(tmp_path, {"traceId": "t", "events": [event]})) == BOTH[:1]


def test_logs_and_metrics_may_stand_in_the_same_file(tmp_path):
    """Where a collector has one file for all that it exports."""
    rows = [{"resourceLogs": []}, export(span(1, [WHO], [OKAFOR])), {"resourceMetrics": []}]
    path = json_lines_file(tmp_path / "t.jsonl", rows)

    assert pairs(only(OtlpReader(), path)) == BOTH[:1]
    assert ids([path]) == ["c"]


def test_what_is_no_export_is_named(tmp_path):
    path = json_lines_file(tmp_path / "t.jsonl", [{"spans": []}])

    assert fault(OtlpReader(), path) == ":1: resourceSpans: is required but missing"


def test_a_bare_text_is_a_message(tmp_path):
    """The conventions want a list, and several programs write the text."""
    bare = {"gen_ai.input.messages": "Who?", "gen_ai.output.messages": "Okafor."}

    assert pairs(read(tmp_path, span(1, [], [], **bare))) == BOTH[:1]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ([{"role": "critic", "content": "Hm."}], '[0].role: "critic" is not a role that is known'),
        ([{"role": 3}], "[0]: holds neither messages nor a text (found: role)"),
        ([{"role": "user", "parts": [{"type": "text"}]}], "[0].content[0]: is a text part without a text"),
        (
            [WHO, {"role": "assistant", "parts": [{"type": "tool_call"}]}],
            "[1].content[0]: is a call of a tool without its name",
        ),
    ],
)
def test_a_fault_names_line_span_and_field(tmp_path, sent, message):
    path = json_lines_file(tmp_path / "t.jsonl", [export(span(1, sent, []))])

    assert fault(OtlpReader(), path) == f":1: span s1, gen_ai.input.messages{message}"


def test_a_file_without_messages_says_how_they_are_kept(tmp_path):
    bare = {
        "traceId": "t",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    }

    with pytest.raises(DatasetError, match="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        read(tmp_path, bare)


def test_evaluations_of_a_span_are_kept(tmp_path):
    names = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
    given = ["Relevance", 0.1, "fail"], ["Length", 4.0, None]
    kinds = "stringValue", "doubleValue", "stringValue"
    events = [
        {
            "name": "gen_ai.evaluation.result",
            "attributes": [
                {"key": key, "value": {kind: value}}
                for key, kind, value in zip(names, kinds, row, strict=True)
                if value is not None
            ],
        }
        for row in given
    ]
    found = read(tmp_path, span(1, [WHO], [OKAFOR]) | {"events": events})
    assert found.metadata["scores"] == [
        {"name": "Relevance", "value": "fail"},
        {"name": "Length", "value": 4.0},
    ]
