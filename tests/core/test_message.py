"""Messages of a chat: calls of tools and their results."""

from __future__ import annotations

from hypothesis import given, strategies as st

from replay import Message, ToolCall, message_fields, paired


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

    assert paired(steps) == (
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
    kept = paired(steps)
    assert paired(kept) == kept

    waited_for: list[str | None] = []
    for step in kept:
        if step.role == "tool":
            waited_for.remove(step.tool_call_id)
        else:
            assert not waited_for
            waited_for = [call.id for call in step.tool_calls]
    assert not waited_for


def test_a_message_in_the_shape_of_chat_completions() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert message_fields(_calling("a")) == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert message_fields(_result("a")) == {"role": "tool", "content": "1", "tool_call_id": "a"}
    assert message_fields(Message(role="developer", text="Be brief.")) == {
        "role": "developer",
        "content": "Be brief.",
    }
