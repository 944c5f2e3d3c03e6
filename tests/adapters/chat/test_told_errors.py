"""Errors that a server tells in a reply or a stream whose status is a success: each is as its code says."""

from __future__ import annotations

from typing import Any

import pytest

from replay import AdapterError, AdapterRateLimitedError, AdapterRefusedError
from tests.adapters.chat.speaking import MESSAGE_START, named, spoken
from tests.adapters.servers import delta, event

FAILED = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "Sorry"}}
FAILED_EVENT = named("response.failed", response=FAILED)


def _in_chat(error: Any) -> tuple[str, tuple[bytes, ...]]:
    return "chat", (delta("Ye"), event({"error": error}), event("[DONE]"))


def _of_anthropic(type: str) -> tuple[str, tuple[bytes, ...]]:
    piece = named("content_block_delta", index=0, delta={"type": "text_delta", "text": "Ye"})
    error = named("error", error={"type": type, "message": "Sorry"})
    return "anthropic", (*MESSAGE_START, piece, error)


@pytest.mark.parametrize(
    ("told", "kind", "retryable"),
    [
        (_in_chat({"message": "Sorry", "code": 429}), AdapterRateLimitedError, True),
        (_in_chat({"message": "Sorry", "type": "rate_limit_exceeded"}), AdapterRateLimitedError, True),
        (_in_chat({"message": "Sorry", "code": "503"}), AdapterRefusedError, True),
        (_in_chat({"message": "Sorry", "type": "server_error", "code": None}), AdapterRefusedError, True),
        (_in_chat({"message": "Sorry", "code": 400, "type": "BadRequest"}), AdapterRefusedError, False),
        (_in_chat("Sorry"), AdapterRefusedError, False),
        (_of_anthropic("overloaded_error"), AdapterRefusedError, True),
        (_of_anthropic("api_error"), AdapterRefusedError, True),
        (_of_anthropic("rate_limit_error"), AdapterRateLimitedError, True),
        (_of_anthropic("invalid_request_error"), AdapterRefusedError, False),
        (("responses", FAILED), AdapterRefusedError, True),
        (("responses", (FAILED_EVENT,)), AdapterRefusedError, True),
        (
            ("responses", (named("error", code="rate_limit_exceeded", message="Sorry"),)),
            AdapterRateLimitedError,
            True,
        ),
        (
            ("responses", (named("error", error={"code": "invalid_prompt", "message": "Sorry"}),)),
            AdapterRefusedError,
            False,
        ),
    ],
)
async def test_a_told_error_is_one_as_its_code_says(
    told: tuple[str, Any], kind: type[AdapterError], retryable: bool
) -> None:
    with pytest.raises(kind, match="Sorry") as caught:
        await spoken(*told)

    assert type(caught.value) is kind
    assert (caught.value.retryable, caught.value.reached) == (retryable, True)
