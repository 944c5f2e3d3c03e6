"""
When an ask is given up and when it is tried again: what the player and the judges have in common.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any, Protocol

from replay.core.adapter import ChatReply, ChatRequest, Session
from replay.core.errors import AdapterError, AdapterTimeoutError
from replay.core.secret_hiding import hide_in_error, hide_in_reply


class RetrySettings(Protocol):
    """How patient an ask is; ``replay.play.player.AskSettings`` says what each setting means."""

    @property
    def timeout_s(self) -> float: ...

    @property
    def attempts(self) -> int: ...

    @property
    def backoff_s(self) -> float: ...

    @property
    def retry_budget_s(self) -> float: ...


@dataclass(slots=True, eq=False)
class _Ask:
    """An ask under way."""

    task: asyncio.Task[Any]
    slot: int
    expired: bool = False


class Deadlines:
    """
    The deadlines of asks that may all take equally long.

    They end in slots, a 64th of that time apart, and each slot has one timer: under load a timer for every
    ask costs more than its record. So an ask has its full time, and at most a 64th more.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._slot_s = timeout_s / 64
        self._slots: dict[int, set[_Ask]] = {}

    def start(self, loop: asyncio.AbstractEventLoop) -> _Ask:
        """The current task begins an ask."""
        task = asyncio.current_task(loop)
        assert task is not None
        number = int((loop.time() + self.timeout_s) / self._slot_s) + 1
        ask = _Ask(task, number)
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = set()
            loop.call_at(number * self._slot_s, self._expire, number)
        slot.add(ask)
        return ask

    def end(self, ask: _Ask) -> None:
        """The ask is over, one way or another."""
        slot = self._slots.get(ask.slot)
        if slot is not None:
            slot.discard(ask)

    def _expire(self, number: int) -> None:
        for ask in self._slots.pop(number):
            ask.expired = True
            ask.task.cancel()


async def ask_within(session: Session, request: ChatRequest, deadlines: Deadlines) -> ChatReply:
    """
    One attempt with a deadline. What comes back has stars for the keys that this process was given.

    Raises:
        AdapterTimeoutError: the deadline passed.
        AdapterError: no answer came for another reason.
    """
    ask = deadlines.start(asyncio.get_running_loop())
    cancelling = ask.task.cancelling()
    try:
        return hide_in_reply(await session.ask(request))
    except AdapterError as error:
        hide_in_error(error)
        raise
    except asyncio.CancelledError as error:
        if ask.expired and ask.task.cancelling() <= cancelling + 1:  # nobody else cancelled the task as well
            raise AdapterTimeoutError(
                f"no complete reply within {deadlines.timeout_s:g} s; raise timeout_s if it may take longer"
            ) from error
        raise
    finally:
        deadlines.end(ask)
        if ask.expired:
            ask.task.uncancel()


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
