"""Chats as they were recorded, over every chat API: how instructions, questions and calls are sent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay import ChatRequest, Exchange, Message, ToolCall
from tests.adapters.chat.speaking import (
    APIS,
    ORDER,
    STOCK,
    WHOLE,
    asked_of,
    function_json,
    item_json,
    use_json,
)

STEPS = (
    Message(role="assistant", text="Let me see.", tool_calls=(ORDER, STOCK)),
    Message(role="tool", tool_call_id="t1", text="sent", name="find_order"),
    Message(role="tool", tool_call_id="t2", text="none"),
)
ASKED = ChatRequest(
    question="And now?", history=(Exchange(question="Where?", answer="On its way.", steps=STEPS),), depth=2
)
SENT = {
    "chat": [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [function_json(ORDER), function_json(STOCK)],
        },
        {"role": "tool", "content": "sent", "tool_call_id": "t1", "name": "find_order"},
        {"role": "tool", "content": "none", "tool_call_id": "t2"},
    ],
    "responses": [
        {"role": "assistant", "content": "Let me see."},
        item_json(ORDER),
        item_json(STOCK),
        {"type": "function_call_output", "call_id": "t1", "output": "sent"},
        {"type": "function_call_output", "call_id": "t2", "output": "none"},
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me see."}, use_json(ORDER), use_json(STOCK)],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "sent"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "none"},
            ],
        },
    ],
}


@pytest.mark.parametrize("api", APIS)
async def test_steps_are_sent_between_question_and_answer_and_after_the_question(api: str) -> None:
    asked = ChatRequest(question=ASKED.question, history=ASKED.history, depth=2, steps=STEPS, runs_tools=True)
    _, body = await asked_of(api, WHOLE[api], asked)

    messages, many = body["input" if api == "responses" else "messages"], len(SENT[api]) + 3
    first, *steps, answer, question = messages[:many]
    assert (first, answer, question) == (
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "On its way."},
        {"role": "user", "content": "And now?"},
    )
    assert steps == SENT[api]
    assert messages[many:] == SENT[api]


def _said(role: str, text: str) -> Message:
    return Message(role=role, text=text)  # type: ignore[arg-type]


UNANSWERED = ToolCall(id="t3", name="hang_up", arguments="{}")
WORDED = ChatRequest(
    question="And\nnow?",
    history=(
        Exchange(
            question="Hi.\nWhere?",
            answer="Here.",
            asked_with=(
                *(_said("assistant", "Hello!"), _said("user", "Hi.")),
                *(_said("developer", "Brief."), _said("user", "Where?")),
            ),
            steps=(
                *(_said("assistant", "I look."), *STEPS, _said("system", "Kind.")),
                Message(role="assistant", tool_calls=(UNANSWERED,)),
            ),
        ),
    ),
    asked_with=(_said("user", "And"), _said("user", "now?"), _said("system", "Quick.")),
    depth=2,
)  # fmt: skip
QUICK = {"role": "system", "content": "Quick."}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_all_stands_where_it_stood(api: str) -> None:
    _, body = await asked_of(api, WHOLE[api], WORDED)

    assert body["input" if api == "responses" else "messages"] == [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Hi."},
        {"role": "developer", "content": "Brief."},
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "I look."},
        *SENT[api],
        {"role": "system", "content": "Kind."},
        {"role": "assistant", "content": "Here."},
        {"role": "user", "content": "And"},
        {"role": "user", "content": "now?"},
        QUICK,
    ]


async def test_anthropic_is_sent_what_it_takes() -> None:
    """A user's message first, one message a role, and instructions outside of them."""
    _, body = await asked_of("anthropic", WHOLE["anthropic"], WORDED)
    texts = [
        [{"type": "text", "text": text} for text in pair] for pair in (("Hi.", "Where?"), ("And", "now?"))
    ]
    (called, *results) = SENT["anthropic"]

    assert body["system"] == "Brief.\n\nKind.\n\nQuick."
    assert body["messages"] == [
        {"role": "user", "content": texts[0]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *called["content"]]},
        *results,
        {"role": "assistant", "content": "Here."},
        {"role": "user", "content": texts[1]},
    ]


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_knows_only_questions_and_answers_in_turn_gets_no_more(api: str) -> None:
    """Instructions have a setting of their own; the steps of this turn are there since it called for them."""
    _, body = await asked_of(api, WHOLE[api], replace(WORDED, steps=STEPS), as_recorded=False)
    told = [{"role": "developer", "content": "Brief."}, QUICK] if api != "anthropic" else []

    assert body["input" if api == "responses" else "messages"] == [
        *told[:1],
        {"role": "user", "content": "Hi.\nWhere?"},
        {"role": "assistant", "content": "Here."},
        *told[1:],
        {"role": "user", "content": "And\nnow?"},
        *SENT[api],
    ]


async def test_what_only_another_api_takes_is_made_to_fit() -> None:
    """Ids have other characters there, arguments are objects, and no text is blank."""
    odd = ToolCall(id="functions.f:0", name="f", arguments="[1]")
    steps = (
        Message(role="assistant", text=" ", tool_calls=(odd,)),
        Message(role="tool", tool_call_id="functions.f:0", text="1"),
        Message(role="assistant", text=" "),
    )
    asked = ChatRequest(question="Q?", history=(), depth=1, steps=steps)
    _, body = await asked_of("anthropic", WHOLE["anthropic"], asked)

    call = {"type": "tool_use", "id": "functions_f_0", "name": "f", "input": {"arguments": [1]}}
    result = {"type": "tool_result", "tool_use_id": "functions_f_0", "content": "1"}
    assert body["messages"][1:] == [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
