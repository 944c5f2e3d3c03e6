"""Messages of a chat: calls of tools and their results."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.core.message import (
    Message,
    ToolCall,
    instructions,
    join_texts,
    message_fields,
    pair_calls,
    question_messages,
)


def _calling(*ids: str, text: str = "") -> Message:
    return Message(
        role="assistant", text=text, tool_calls=tuple(ToolCall(id=id, name="f", arguments="{}") for id in ids)
    )


def _result(id: str | None, text: str = "1") -> Message:
    return Message(role="tool", tool_call_id=id, text=text)


def test_calls_without_results_and_results_without_calls_are_left_out() -> None:
    steps = (
        _result("early"),
        _calling("a", "unanswered"),
        _result("a"),
        _result("a", "again"),
        _result("foreign"),
        _calling("lost", text="Wait."),
        Message(role="assistant", text="Still there?"),
        _result("lost"),
        _calling("gone"),
        Message(role="assistant", text=" "),
    )

    assert pair_calls(steps) == (
        _calling("a"),
        _result("a"),
        Message(role="assistant", text="Wait."),
        Message(role="assistant", text="Still there?"),
    )


IDS = st.sampled_from(["a", "b", "c"])
STEP = st.one_of(
    st.builds(_result, IDS | st.none()),
    st.lists(IDS, max_size=3, unique=True).flatmap(
        lambda ids: st.sampled_from(["", "Yes."]).map(lambda text: _calling(*ids, text=text))
    ),
)


@given(st.lists(STEP, max_size=8))
def test_every_call_is_followed_by_its_result_and_nothing_else_comes_between(steps: list[Message]) -> None:
    kept = pair_calls(steps)
    assert pair_calls(kept) == kept

    waited_for: list[str | None] = []
    for step in kept:
        if step.role == "tool":
            waited_for.remove(step.tool_call_id)
        else:
            assert not waited_for
            waited_for = [call.id for call in step.tool_calls]
    assert not waited_for


HI, MORE, RED, BRIEF = (
    Message(role=role, text=text)
    for role, text in (
        ("user", "Hi."),
        ("user", "I need shoes."),
        ("user", "Red ones?"),
        ("system", "Brief."),
    )
)


@pytest.mark.parametrize(
    ("question", "asked_with", "sent"),
    [
        ("Red ones?", (), (RED,)),
        ("Red ones?", (BRIEF,), (BRIEF, RED)),
        ("Red ones?", (RED, BRIEF), (RED, BRIEF)),
        ("Red shoes?", (RED, BRIEF), (Message(role="user", text="Red shoes?"), BRIEF)),
        ("Hi.\nI need shoes.\nRed ones?", (HI, MORE, BRIEF, RED), (HI, MORE, BRIEF, RED)),
        (
            "Hi.\nI need shoes.\nRed shoes?",
            (BRIEF, HI, MORE, RED),
            (BRIEF, HI, MORE, Message(role="user", text="Red shoes?")),
        ),
        ("Red shoes?", (HI, BRIEF, RED), (BRIEF, Message(role="user", text="Red shoes?"))),
        ("Hi.\n", (HI, RED), (Message(role="user", text="Hi.\n"),)),
    ],
)
def test_a_question_is_put_in_its_own_messages_as_far_as_an_edit_lets_them_stand(
    question: str, asked_with: tuple[Message, ...], sent: tuple[Message, ...]
) -> None:
    assert question_messages(question, asked_with) == sent


@given(st.lists(st.sampled_from([HI, MORE, RED, BRIEF]), max_size=5), st.text(max_size=9))
def test_whatever_was_edited_the_users_words_are_the_question(asked_with: list[Message], edited: str) -> None:
    recorded = join_texts(message.text for message in asked_with if message.role == "user")
    for question in (recorded, edited, recorded + edited):
        sent = question_messages(question, asked_with)
        assert "\n".join(message.text for message in sent if message.role == "user") == question
        assert instructions(sent) == instructions(asked_with)


def test_a_message_in_the_shape_of_chat_completions() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert message_fields(_calling("a")) == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert message_fields(_result("a")) == {"role": "tool", "content": "1", "tool_call_id": "a"}
    assert message_fields(Message(role="developer", text="Be brief.")) == {
        "role": "developer",
        "content": "Be brief.",
    }


def test_arguments_that_cannot_be_read_stay_the_text_they_are() -> None:
    for text in ("", "no {", "[" * 1_000_000 + "]" * 1_000_000, '{"a": "\ud800"}'):
        assert ToolCall(id="1", name="f", arguments=text).parsed_arguments == text
    assert ToolCall(id="1", name="f", arguments='{"a": [1, true]}').parsed_arguments == {"a": [1, True]}
