"""Messages of chat logs: texts, parts, calls of tools, and what stands in them besides."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from replay.core.errors import DatasetError
from replay.core.message import Message, ToolCall, pair_calls, question_messages
from replay.datasets.chat import ChatReader
from replay.datasets.native import NativeReader, write_native
from tests.datasets.chat_logs import CALL, PICTURE, RESULT, assistant, pairs, read, system, user
from tests.datasets.files import json_lines_file, only


def called(id, text="", name="f", arguments="{}"):
    return Message(role="assistant", text=text, tool_calls=(ToolCall(id=id, name=name, arguments=arguments),))


def returned(id, text="42", name="f", **more):
    return Message(role="tool", text=text, tool_call_id=id, name=name, **more)


def function(name="f", arguments="{}", **more):
    return {"function": {"name": name, "arguments": arguments}, **more}


STEPS_AS_FOUND = {
    "Chat Completions": (
        [
            assistant("I look.", tool_calls=[function(id="a"), function("g", id="b")]),
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}, PICTURE]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            assistant("And again."),
            system("Hurry.", "developer"),
            CALL,
            RESULT,
        ],
        [
            Message(
                role="assistant",
                text="I look.",
                tool_calls=(
                    ToolCall(id="a", name="f", arguments="{}"),
                    ToolCall(id="b", name="g", arguments="{}"),
                ),
            ),
            returned("b", "2", "g", left_out=("image_url",)),
            returned("a", "1"),
            Message(role="assistant", text="And again."),
            Message(role="developer", text="Hurry."),
            called("c"),
            returned("c"),
        ],
    ),
    "calls in messages with texts of their own": (
        [CALL, CALL | {"content": "And again.", "tool_calls": [function(id="d")]}, RESULT],
        [called("c"), called("d", "And again."), returned("c")],
    ),
    "calls before they were listed": (
        [
            assistant(None, function_call={"name": "f", "arguments": "{}"}),
            {"role": "function", "name": "f", "content": "42"},
        ],
        [called("call_1"), returned("call_1")],
    ),
    "no ids, arguments as objects, and calls at once in messages of their own": (
        [
            assistant("", tool_calls=[function("g", {"n": 1})]),
            assistant("", tool_calls=[{"name": "f", "args": {}}]),
            {"role": "tool", "tool_name": "f", "content": "2"},
            {"role": "tool", "content": "1"},
        ],
        [
            Message(
                role="assistant",
                tool_calls=(
                    ToolCall(id="call_1", name="g", arguments='{"n":1}'),
                    ToolCall(id="call_2", name="f", arguments="{}"),
                ),
            ),
            returned("call_2", "2"),
            returned("call_1", "1", "g"),
        ],
    ),
    "Anthropic": (
        [
            assistant(
                [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t", "name": "f", "input": {"n": 1}},
                ]
            ),
            user([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "42"}]}]),
        ],
        [
            Message(
                role="assistant",
                text="I look.",
                tool_calls=(ToolCall(id="t", name="f", arguments='{"n":1}'),),
                left_out=("thinking",),
            ),
            returned("t"),
        ],
    ),
    "items of Responses": (
        [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "a", "id": "fc_1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b", "output": {"found": 2}},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ],
        [
            Message(role="assistant", text="I look."),
            Message(role="assistant", tool_calls=called("a").tool_calls + called("b").tool_calls),
            returned("b", '{"found":2}'),
            returned("a", "1"),
        ],
    ),
    "a call that nobody answered, and a result that nobody asked for": (
        [CALL, {"role": "tool", "tool_call_id": "x", "content": "1"}],
        [called("c")],
    ),
}


SAID = {
    "user messages in a row are one question": (
        [user("I mean the album."), user("Who wrote it?"), assistant("Okafor.")],
        [("I mean the album.\nWho wrote it?", "Okafor.")],
    ),
    "assistant messages in a row are one answer": (
        [user("Who?"), assistant("Okafor."), assistant("In 1987.")],
        [("Who?", "Okafor.\nIn 1987.")],
    ),
    "a missing last answer is asked but unscored": (
        [user("Who?"), assistant("Okafor."), user("Why?")],
        [("Who?", "Okafor."), ("Why?", None)],
    ),
    "calls of tools and results are no answers": (
        [user("How many?"), CALL | {"content": "Let me look."}, RESULT, CALL, RESULT, assistant("42.")],
        [("How many?", "42.")],
    ),
    "a question after a call of a tool is a new turn": (
        [user("How many?"), CALL, RESULT, user("Never mind. Who?"), assistant("Okafor.")],
        [("How many?", None), ("Never mind. Who?", "Okafor.")],
    ),
    "content in text parts is joined": (
        [
            user([{"type": "text", "text": "Who"}, {"type": "input_text", "text": "wrote it?"}]),
            assistant([{"type": "refusal", "refusal": "I won't say."}]),
        ],
        [("Who\nwrote it?", "I won't say.")],
    ),
    "a refusal is an answer": (
        [user("Who?"), assistant(None, refusal="I can't say.")],
        [("Who?", "I can't say.")],
    ),
    # Left out altogether, it would move all later turns up by one.
    "a picture alone is asked by its name": (
        [user([PICTURE]), assistant("A ship."), user("Whose?")],
        [("[image_url]", "A ship."), ("Whose?", None)],
    ),
}


@pytest.mark.parametrize("kind", SAID)
def test_messages_are_questions_and_answers(tmp_path, kind):
    messages, found = SAID[kind]
    assert pairs(read(tmp_path, *messages)) == found


@pytest.mark.parametrize("kind", STEPS_AS_FOUND)
def test_calls_and_results_are_the_steps_of_their_turn(tmp_path, kind):
    messages, steps = STEPS_AS_FOUND[kind]
    found = read(tmp_path, user("How many?"), *messages, assistant("42."), user("Why?"))

    assert pairs(found) == [("How many?", "42."), ("Why?", None)]
    assert list(found.turns[0].steps) == steps
    assert found.turns[1].steps == ()


def test_instructions_stay_where_they_stood(tmp_path):
    """Before a question, behind it, among the steps; after an answer they are the next question's."""
    found = read(
        tmp_path,
        assistant("Hello!"),
        system("One."),
        user("Well,"),
        system("Two.", "developer"),
        user("how many?"),
        system("Three."),
        CALL,
        RESULT,
        system("Four."),
        assistant("42."),
        system("Five."),
        assistant("Or so."),
        user("Why?"),
        system("Six."),
        assistant("So."),
    )
    first, second = found.turns

    assert [(m.role, m.text) for m in first.asked_with] == [
        ("assistant", "Hello!"),
        ("system", "One."),
        ("user", "Well,"),
        ("developer", "Two."),
        ("user", "how many?"),
        ("system", "Three."),
    ]
    assert first.steps == (called("c"), returned("c"), Message(role="system", text="Four."))
    assert pairs(found) == [("Well,\nhow many?", "42.\nOr so."), ("Why?", "So.")]
    assert [(m.role, m.text) for m in second.asked_with] == [
        ("system", "Five."),
        ("user", "Why?"),
        ("system", "Six."),
    ]


def test_lost_calls_and_results_are_counted(tmp_path):
    stray = {"role": "tool", "tool_call_id": "x", "content": "1"}
    found = read(tmp_path, user("How many?"), CALL, stray, assistant("42."), user("Why?"))

    assert found.metadata["left_out"] == [
        {"tool call without its result": 1, "tool result without its call": 1},
        None,
    ]


def test_what_the_server_ran_by_itself_is_no_step_of_ours(tmp_path):
    search = [{"type": "server_tool_use", "id": "s"}, {"type": "web_search_tool_result", "tool_use_id": "s"}]
    found = read(tmp_path, user("Who?"), assistant([*search, {"type": "text", "text": "Okafor."}]))

    assert pairs(found) == [("Who?", "Okafor.")]
    assert found.metadata["left_out"] == [{"server_tool_use": 1, "web_search_tool_result": 1}]


def test_a_type_may_say_who_speaks(tmp_path):
    """As LangChain writes messages."""
    messages = [
        {"type": "human", "content": "How many?"},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"name": "f", "args": {"n": 1}, "id": "t", "type": "tool_call"}],
        },
        {"type": "tool", "content": "42", "name": "f", "tool_call_id": "t"},
        {"type": "ai", "content": "42."},
    ]
    reader = ChatReader(role_field="type", roles={"human": "user", "ai": "assistant"})
    found = only(reader, json_lines_file(tmp_path / "log.jsonl", [{"messages": messages}]))

    assert pairs(found) == [("How many?", "42.")]
    assert found.turns[0].steps == (called("t", arguments='{"n":1}'), returned("t"))


def test_what_a_log_holds_is_written_and_read_back_in_the_native_format(tmp_path):
    logs = [
        {"messages": [assistant("Hello!"), user("How"), user("many?"), *messages, assistant("42.")]}
        for messages, _ in STEPS_AS_FOUND.values()
    ]
    talks = list(ChatReader().read(json_lines_file(tmp_path / "log.jsonl", logs)))
    write_native(talks, tmp_path / "native.jsonl")

    assert list(NativeReader().read(tmp_path / "native.jsonl")) == talks


def test_the_text_beside_a_picture_is_kept_and_the_picture_counted(tmp_path):
    thought = {"type": "thinking", "thinking": "A ship."}
    found = read(
        tmp_path,
        user([{"type": "text", "text": "What's this?"}, PICTURE, PICTURE, {"type": "input_audio"}]),
        assistant([thought, {"type": "text", "text": "A ship."}]),
        user("And?"),
        assistant("Nothing."),
    )

    assert pairs(found) == [("What's this?", "A ship."), ("And?", "Nothing.")]
    assert found.metadata == {"left_out": [{"image_url": 2, "input_audio": 1, "thinking": 1}, None]}


def test_a_part_may_have_its_text_as_a_value(tmp_path):
    """As LLaMA-Factory writes its own format; a call is JSON text there."""
    call = {"type": "tool_call", "value": '{"name": "stock", "arguments": {"size": 42}}'}
    found = read(
        tmp_path,
        user([{"type": "text", "value": "Any?"}]),
        assistant([{"type": "reasoning", "value": "Hm."}, call]),
        {"role": "tool", "content": [{"type": "text", "value": "3 pairs"}]},
        assistant([{"type": "text", "value": "Three."}]),
    )

    assert pairs(found) == [("Any?", "Three.")]
    assert [(step.text, [one.name for one in step.tool_calls]) for step in found.turns[0].steps] == [
        ("", ["stock"]),
        ("3 pairs", []),
    ]


NAMES = ("type", "text", "id", "name", "input", "function", "output", "tool_use_id")


ODD = st.recursive(
    st.none() | st.integers(0, 2) | st.sampled_from(["", "a", "text", "tool_use", "function_call_output"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)


BESIDE = ("tool_calls", "function_call", "type", "call_id", "name", "output", "arguments")


ODD_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "bot"]),
        "content": st.sampled_from(["Hi.", "", None]) | st.lists(ODD, max_size=2),
        **dict.fromkeys(BESIDE, ODD),
    },
)


@pytest.mark.long
@settings(max_examples=300)
@given(st.lists(ODD_MESSAGE, max_size=6))
def test_an_odd_log_is_a_conversation_that_can_be_sent_or_a_fault(tmp_path_factory, messages):
    path = tmp_path_factory.getbasetemp() / "odd.jsonl"
    (found,) = ChatReader().read(json_lines_file(path, [{"messages": messages}]))
    if isinstance(found, DatasetError):
        return
    write_native([found], path)
    assert list(NativeReader().read(path)) == [found]
    for turn in found.turns:
        sent = pair_calls(turn.steps)
        calls = [call.id for step in sent for call in step.tool_calls]
        assert sorted(calls) == sorted(step.tool_call_id for step in sent if step.role == "tool")
        assert question_messages(turn.question, turn.asked_with)[-1].role != "assistant"
