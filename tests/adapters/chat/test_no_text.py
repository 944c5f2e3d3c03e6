"""Replies without a text that can be used, over each chat API: what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from replay import AdapterReplyError
from tests.adapters.chat.speaking import (
    MESSAGE_START,
    MESSAGE_STOP,
    RESPONSE_START,
    asked_of,
    named,
    response,
)
from tests.adapters.servers import completion, delta, event

DONE = event("[DONE]")
COMPLETED = named("response.completed", response=response("-"))


def _message(text: str | None, reason: str = "end_turn") -> dict[str, Any]:
    return {"content": [] if text is None else [{"type": "text", "text": text}], "stop_reason": reason}


REPLIES = {
    "chat": [
        (completion(None), "without a text"),
        (completion("  \n"), "without a text"),
        (completion([]), "without a text"),
        ({"choices": [{"message": {"content": None, "refusal": "I won't."}}]}, "refusal"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}, "raise the token limit"),
        ({"choices": [{"message": {"tool_calls": [{"function": {"name": ""}}, 5]}}]}, "without a text"),
        ({"choices": []}, "choices[0].message"),
        ({"choices": [{"message": None}]}, "choices[0].message"),
        ({"error": {"message": "overloaded"}}, "overloaded"),
        ([], "choices[0].message"),
        ("text", "choices[0].message"),
        (None, "choices[0].message"),
        ((delta("Ye"), b"data: {nonsense\n\n", DONE), "event 2 of the stream can't be read as JSON"),
        ((delta("Ye"), b"data: " + b"[" * 200_000 + b"\n\n", DONE), "nested too deeply"),
        ((delta("", "length"), DONE), "raise the token limit"),
        ((delta(None, "stop"), DONE), "without a text (finish_reason 'stop')"),
        ((event({"choices": [{"delta": {"refusal": "I won't."}}]}), DONE), "a refusal of the model"),
        ((DONE,), "without a text"),
    ],
    "responses": [
        (response(None), "without a text (finish_reason 'completed')"),
        (response("", incomplete_details={"reason": "max_output_tokens"}), "raise the token limit"),
        ({"choices": []}, "without output; check that base_url"),
        ((RESPONSE_START, named("response.refusal.delta", delta="No."), COMPLETED), "a refusal of the model"),
        ((RESPONSE_START, COMPLETED), "without a text"),
    ],
    "anthropic": [
        (_message(None), "without a text (finish_reason 'end_turn')"),
        (_message(" ", "max_tokens"), "raise the token limit"),
        (_message(None, "refusal"), "a refusal of the model"),
        ({"choices": []}, "without content; check that base_url"),
        ([], "without content"),
        ((*MESSAGE_START, *MESSAGE_STOP), "without a text"),
        ((named("message_delta", delta={"stop_reason": "max_tokens"}), MESSAGE_STOP[-1]), "token limit"),
    ],
}


@pytest.mark.parametrize(
    ("api", "answer", "said"), [(api, *row) for api, rows in REPLIES.items() for row in rows]
)
async def test_a_reply_without_a_usable_text_says_why(api: str, answer: Any, said: str) -> None:
    with pytest.raises(AdapterReplyError, match="POST http://127") as caught:
        await asked_of(api, answer)

    assert said in str(caught.value)
    assert not caught.value.retryable
