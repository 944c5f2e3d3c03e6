"""What a server makes of a body, and what it says of one that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay import ChatRequest, Exchange, Message, ToolCall
from replay.cli.serving.bodies import BadRequest, Completion, read_completion as read_content, read_question
from tests.data_tables import from_table


def test_messages_become_a_conversation() -> None:
    roles = [
        ("system", "S.\n\nT."),
        ("assistant", "Welcome."),
        ("user", "A?"),
        ("user", "B?"),
        ("system", "U."),
        ("assistant", "B."),
        ("user", "C?"),
    ]
    asked = read_completion({"messages": [{"role": role, "content": text} for role, text in roles]})

    assert [passage.text for passage in asked.conversation.passages] == ["S.", "T.", "U."]
    assert asked.request == ChatRequest(
        question="C?",
        history=(
            Exchange(question="", answer="Welcome."),
            Exchange(question="A?", answer=""),
            Exchange(question="B?", answer="B."),
        ),
        depth=4,
        runs_tools=True,
    )


def read_completion(body: Any) -> Completion:
    return read_content(json.dumps(body).encode())


USER = {"role": "user", "content": "Q?"}
FUNCTION = {"name": "find", "arguments": "{}"}
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": FUNCTION}]}
RESULT = {"role": "tool", "content": "Found.", "tool_call_id": "1"}
CALL_AND_RESULT = (
    Message(role="assistant", tool_calls=(ToolCall(id="1", name="find", arguments="{}"),)),
    Message(role="tool", text="Found.", tool_call_id="1"),
)


def test_calls_of_tools_and_their_results_stand_where_they_were_made() -> None:
    answer = {"role": "assistant", "content": "Yes."}
    asked = read_completion({"messages": [USER, CALLS, RESULT, answer, USER, CALLS, RESULT]}).request

    assert asked.history == (Exchange(question="Q?", answer="Yes.", steps=CALL_AND_RESULT),)
    assert (asked.question, asked.steps, asked.depth) == ("Q?", CALL_AND_RESULT, 2)


@from_table
def test_a_body_that_asks_for_nothing_sensible_is_told_what_is_wrong(kind: str, body: str, said: str) -> None:
    """In the table, USER, CALLS and RESULT stand for those messages."""
    for name, message in (("USER", USER), ("CALLS", CALLS), ("RESULT", RESULT)):
        body = body.replace(name, json.dumps(message))
    read = read_question if kind == "chat" else read_content
    with pytest.raises(BadRequest) as caught:
        read(body.encode())

    assert said in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, (False, False)),
        ({"stream": False}, (False, False)),
        ({"stream": None, "stream_options": None}, (False, False)),
        ({"stream": True}, (True, False)),
        ({"stream": True, "stream_options": {}}, (True, False)),
        ({"stream": True, "stream_options": {"include_usage": True}}, (True, True)),
    ],
)
def test_a_stream_and_its_usage_are_given_where_they_are_asked_for(
    options: dict[str, Any], wanted: tuple[bool, bool]
) -> None:
    asked = read_completion({"messages": [USER], **options})

    assert (asked.stream, asked.stream_usage) == wanted
