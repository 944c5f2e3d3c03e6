"""What a server makes of a body, and what it says of one that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from replay import ChatRequest, Exchange
from replay.cli.serving.request import BadRequest, read_completion, read_question


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
    )


USER = {"role": "user", "content": "Q?"}


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("completions", [], "not a JSON object"),
        ("completions", {}, "messages is not a list"),
        ("completions", {"messages": []}, "messages is not a list"),
        ("completions", {"messages": ["Q?"]}, "messages[0] is not an object"),
        ("completions", {"messages": [{"role": "tool", "content": ""}]}, "messages[0].role: 'tool'"),
        ("completions", {"messages": [USER, {"role": "user"}]}, "messages[1].content is not a text"),
        ("completions", {"messages": [{"role": "user", "content": [{"image": 1}]}]}, "only parts"),
        ("completions", {"messages": [{"role": "system", "content": "S."}]}, "nothing to answer"),
        (
            "completions",
            {"messages": [USER, {"role": "assistant", "content": "A."}]},
            "not the user's",
        ),
        ("completions", {"messages": [USER], "stream": 1}, "stream is neither true nor false"),
        ("completions", {"messages": [USER], "stream_options": {}}, "stream_options"),
        ("completions", {"messages": [USER], "stream": True, "stream_options": 1}, "stream_options"),
        ("completions", {"messages": [USER], "n": 2}, "one answer"),
        ("chat", "text", "not a JSON object"),
        ("chat", {}, "question is not a text"),
        ("chat", {"question": " "}, "question is not a text"),
        ("chat", {"question": "Q?", "session_id": 5}, "session_id is not a text"),
        ("chat", {"question": "Q?", "passages": "text"}, "passages is not a list"),
        ("chat", {"question": "Q?", "passages": ["x", {"id": "y"}]}, "passages[1] is neither"),
    ],
)
def test_a_body_that_asks_for_nothing_sensible_is_told_what_is_wrong(kind: str, body: Any, said: str) -> None:
    read = read_question if kind == "chat" else read_completion
    with pytest.raises(BadRequest) as caught:
        read(body)

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
