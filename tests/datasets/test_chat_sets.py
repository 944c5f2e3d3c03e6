"""Published sets of chats, by lines in their shapes."""

from __future__ import annotations

import pytest

from replay.core.message import Message, ToolCall
from replay.datasets.chat import LmsysReader, MultiChallengeReader, ShareGptReader, WildChatReader
from tests.datasets.files import contract, fault, json_file, json_lines_file, only


def chat(*texts):
    return [
        {"role": ("user", "assistant")[at % 2], "content": text, "timestamp": None}
        for at, text in enumerate(texts)
    ]


def shared(*messages, **more):
    return {"conversations": [{"from": who, "value": text} for who, text in messages], **more}


SHARED = shared(("human", "Who?"), ("gpt", "Okafor."), id="QWJhYvA_0")
TABLE = {"model": "m", "turn": 1, "language": "English", "openai_moderation": [{}], "redacted": False}
LMSYS = {"conversation_id": "33f0", **TABLE, "conversation": chat("Who?", "Okafor.")}
WILD = {"conversation_hash": "c9ec", **TABLE, "toxic": False, "conversation": chat("Who?", "Okafor.")}
CHALLENGE = {
    "QUESTION_ID": "674552683acc22154b8bb758",
    "AXIS": "INFERENCE_MEMORY",
    "CONVERSATION": chat("Who?", "Okafor.", "When?"),
    "TARGET_QUESTION": "Does it name 1987?",
    "PASS_CRITERIA": "YES",
}


def contract_of(made, first, second, messages):
    return contract(
        made, "chats.jsonl", [first, second], [first | {messages: [{"nobody": "says it"}]}, second]
    )


TestShareGptReader = contract_of(ShareGptReader(), SHARED, SHARED | {"id": "b"}, "conversations")
TestLmsysReader = contract_of(LmsysReader(), LMSYS, LMSYS | {"conversation_id": "b"}, "conversation")
# One hash for two is what the set has.
TestWildChatReader = contract_of(WildChatReader(), WILD, WILD, "conversation")
TestMultiChallengeReader = contract_of(
    MultiChallengeReader(), CHALLENGE, CHALLENGE | {"QUESTION_ID": "b"}, "CONVERSATION"
)


@pytest.mark.parametrize(
    ("reader", "line", "metadata"),
    [
        (ShareGptReader(), SHARED, {}),
        (LmsysReader(), LMSYS, {"model": "m", "language": "English"}),
        (WildChatReader(), WILD, {"conversation_hash": "c9ec", "model": "m", "language": "English"}),
        (
            MultiChallengeReader(),
            CHALLENGE,
            {"AXIS": "INFERENCE_MEMORY", "TARGET_QUESTION": "Does it name 1987?", "PASS_CRITERIA": "YES"},
        ),
    ],
)
def test_messages_are_turns_and_the_rest_is_metadata(tmp_path, reader, line, metadata):
    found = only(reader, json_file(tmp_path / "chats.json", [line]))

    assert (found.turns[0].question, found.turns[0].gold_answers) == ("Who?", ("Okafor.",))
    assert found.metadata == metadata


def read(tmp_path, *messages, **more):
    return only(ShareGptReader(), json_lines_file(tmp_path / "chats.jsonl", [shared(*messages, **more)]))


def test_sharegpts_calls_and_their_results_are_steps(tmp_path):
    calls = '[{"name": "stock", "arguments": {"size": 42}}]'
    found = read(
        tmp_path,
        ("human", "Any?"),
        ("function_call", calls),
        ("observation", "3 pairs"),
        ("gpt", "Three."),
        system="You sell shoes.",
    )

    (turn,) = found.turns
    call = ToolCall(id="call_1", name="stock", arguments='{"size":42}')
    assert turn.asked_with == (Message(role="system", text="You sell shoes."),)
    assert turn.steps == (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", text="3 pairs", tool_call_id="call_1", name="stock"),
    )
    assert turn.gold_answers == ("Three.",)


@pytest.mark.parametrize(
    ("call", "message"),
    [("Let me see.", "is not valid JSON"), ("{}", "is a call of a tool without its name")],
)
def test_a_call_that_is_none_is_an_error(tmp_path, call, message):
    path = json_lines_file(tmp_path / "chats.jsonl", [shared(("human", "Any?"), ("function_call", call))])

    assert fault(ShareGptReader(), path).startswith(f":1: conversations[1].value: {message}")
