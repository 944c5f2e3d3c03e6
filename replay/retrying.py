"""
When an ask is given up and when it is tried again: what the player and the judges have in common.
"""

from __future__ import annotations

import asyncio
import random
from typing import Protocol

from replay.adapter import ChatReply, ChatRequest, Session
from replay.errors import AdapterError, AdapterTimeoutError


class RetrySettings(Protocol):
    """How patient an ask is; ``replay.player.AskSettings`` says what each setting means."""

    @property
    def timeout_s(self) -> float: ...

    @property
    def attempts(self) -> int: ...

    @property
    def backoff_s(self) -> float: ...

    @property
    def retry_budget_s(self) -> float: ...


async def ask_within(session: Session, request: ChatRequest, timeout_s: float) -> ChatReply:
    """
    One attempt with a deadline.

    Does what ``asyncio.timeout`` does, at a third of its price: that looks up the running loop three times,
    each a system call before Python 3.12.

    Raises:
        AdapterTimeoutError: the deadline passed.
        AdapterError: no answer came for another reason.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task(loop)
    assert task is not None
    cancelling = task.cancelling()
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        task.cancel()

    timer = loop.call_later(timeout_s, expire)
    try:
        return await session.ask(request)
    except asyncio.CancelledError as error:
        if expired and task.cancelling() <= cancelling + 1:  # nobody else cancelled the task as well
            raise AdapterTimeoutError(f"no complete reply within {timeout_s:g} s") from error
        raise
    finally:
        timer.cancel()
        if expired:
            task.uncancel()


def pause_before_retry(
    settings: RetrySettings, error: AdapterError, *, attempt: int, since_failure_s: float, place: str
) -> float | None:
    """
    Seconds to wait before asking again after *error* of the *attempt*-th try; None when it is final.

    The pause is drawn from *place*, which tells this ask from all others, so that asks that failed
    together don't return together and the same run waits the same again. *since_failure_s* counts from
    the first failure.
    """
    if not error.retryable or attempt >= settings.attempts:
        return None
    longest = settings.backoff_s * 2 ** (attempt - 1)
    pause = random.Random(f"{place}|{attempt}").uniform(0.0, longest)
    if error.retry_after_s is not None:
        pause = max(pause, error.retry_after_s)
    return pause if since_failure_s + pause <= settings.retry_budget_s else None
