"""What traced calls were given and returned, in the shapes in which it is kept."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import pytest

from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.model_calls import messages_in
from tests.data_tables import from_table

PLACE = SourceLocation(path=Path("x.jsonl"), line=1)


def constructor(kind, content, **more):
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "messages", kind],
        "kwargs": {"content": content, "additional_kwargs": {}, **more},
    }


def text(type, content):
    return {"type": type, "text": content}


REASONING = {"type": "reasoning", "summary": []}


def told(value, role="user"):
    return [(one.role, one.said.text) for one in messages_in(value, PLACE, "input", role)]


ASKED = [("system", "Be brief."), ("user", "Who?")]
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]


@pytest.mark.parametrize(
    "value",
    [
        CHAT,
        json.dumps(CHAT),
        {"model": "m", "messages": CHAT, "temperature": 0},
        {
            "system": "Be brief.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}],
        },
        {"instructions": "Be brief.", "input": "Who?"},
        {"messages": [[constructor("SystemMessage", "Be brief."), constructor("HumanMessage", "Who?")]]},
        [{"type": "system", "content": "Be brief."}, {"type": "human", "content": "Who?"}],
        [
            {"type": "system", "data": {"content": "Be brief."}},
            {"type": "human", "data": {"content": "Who?"}},
        ],
        {"input": {"messages": CHAT}},
        {
            "contents": [{"role": "user", "parts": [{"text": "Who?"}]}],
            "config": {"system_instruction": "Be brief."},
        },
        [
            {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
            {"role": "user", "parts": [{"type": "text", "content": "Who?"}]},
        ],
        [*CHAT, {"role": "tool", "content": {"type": "function", "function": {"name": "stock"}}}],
    ],
)
def test_what_a_model_was_given(value):
    assert told(value) == ASKED


@pytest.mark.parametrize(
    "value",
    [
        "Okafor.",
        {"role": "assistant", "content": "Okafor."},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Okafor."}}, {"message": {}}]},
        {"choices": [{"text": "Okafor."}]},
        {"generations": [[{"text": "Okafor.", "message": constructor("AIMessage", "Okafor.")}]]},
        {"generations": [{"text": "Okafor."}, {"text": "Another."}]},
        {"output": constructor("AIMessageChunk", "Okafor.")},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "Okafor."}],
        },
        {
            "output": [
                {"type": "reasoning", "summary": []},
                {"role": "assistant", "content": [{"type": "output_text", "text": "Okafor."}]},
            ]
        },
        {
            "instructions": "Be brief.",
            "text": {"format": {"type": "text"}},
            "output": [{"role": "assistant", "content": [{"type": "output_text", "text": "Okafor."}]}],
        },
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Okafor."}]}}, {"content": {}}]},
        {"args": ["Okafor."], "kwargs": {}},
        {"answer": "Okafor."},
        json.dumps({"content": "Okafor."}),
    ],
)
def test_what_a_model_returned(value):
    assert [one for one in told(value, "assistant") if one[1]] == [("assistant", "Okafor.")]


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_nothing_is_no_message(value):
    assert told(value) == []


@pytest.mark.parametrize("text", ["[]", "[1, 2]", '{"size": 42}', "[see above]", "{"])
def test_a_text_that_happens_to_be_json_is_a_text(text):
    assert told(text) == [("user", text)]


CALL = {"name": "stock", "args": {"size": 42}, "id": "k", "type": "tool_call"}
OPENAI = {"id": "k", "type": "function", "function": {"name": "stock", "arguments": '{"size":42}'}}
ANTHROPIC = {"type": "tool_use", "id": "k", "name": "stock", "input": {"size": 42}}


@pytest.mark.parametrize(
    "value",
    [
        constructor("AIMessage", "", tool_calls=[CALL]),
        constructor("AIMessage", [ANTHROPIC], tool_calls=[CALL]),
        {
            "lc": 1,
            "id": ["AIMessage"],
            "kwargs": {"content": "", "additional_kwargs": {"tool_calls": [OPENAI]}},
        },
        {"role": "assistant", "content": None, "tool_calls": [OPENAI]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "k", "name": "stock", "arguments": {"size": 42}}],
        },
        {"role": "model", "parts": [{"function_call": {"id": "k", "name": "stock", "args": {"size": 42}}}]},
        {"output": [{"type": "function_call", "call_id": "k", "name": "stock", "arguments": '{"size":42}'}]},
    ],
)
def test_a_call_of_a_tool_is_one_wherever_it_is_kept(value):
    (spoken,) = messages_in(value, PLACE, "output", "assistant")
    (call,) = spoken.said.calls

    assert (spoken.role, call.id, call.name, call.parsed_arguments) == (
        "assistant",
        "k",
        "stock",
        {"size": 42},
    )


@pytest.mark.parametrize(
    "value",
    [
        constructor("ToolMessage", "3 pairs", tool_call_id="k"),
        {"role": "tool", "content": "3 pairs", "tool_call_id": "k"},
        {"type": "function_call_output", "call_id": "k", "output": "3 pairs"},
    ],
)
def test_a_result_belongs_to_its_call(value):
    (spoken,) = messages_in([value], PLACE, "input")

    assert [(one.text, one.tool_call_id) for one in spoken.said.results] == [("3 pairs", "k")]


@from_table
def test_what_a_tool_returned_may_be_a_value_and_name_no_call(value, text):
    (spoken,) = messages_in([value], PLACE, "input")

    assert [one.text for one in spoken.said.results] == [text]


def test_parts_of_other_kinds_are_counted():
    parts = [{"text": "What's this?"}, {"inline_data": {}}, {"type": "blob", "content": "x"}]
    (spoken,) = messages_in({"role": "user", "parts": parts}, PLACE, "input")

    assert (spoken.said.text, dict(spoken.said.left_out)) == ("What's this?", {"inline_data": 1, "blob": 1})


NESTED = reduce(lambda inner, _: {"input": inner}, range(900), "Who?")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (NESTED, "input: is nested too deeply"),
        (3, "input: holds neither messages nor a text"),
        ([3], r"input\[0\]: holds neither"),
        ({"size": 42}, r"input: holds neither messages nor a text \(found: size\)"),
        ({"messages": [{"role": "nobody"}]}, r'input\.messages\[0\]\.role: "nobody" is not a role'),
        ([{"role": "user", "content": 3}], r"input\[0\]\.content: found a whole number, expected"),
        ({"generations": [[{"message": {"size": 1}}]]}, r"input\.generations\.message: holds neither"),
    ],
)
def test_what_holds_none_is_named(value, message):
    with pytest.raises(DatasetError, match=message):
        messages_in(value, PLACE, "input")
