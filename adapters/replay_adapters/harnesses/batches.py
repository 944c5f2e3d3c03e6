"""Questions that several conversations ask at a time, put to a blocking function as one list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Batches(Generic[Q, A]):
    """
    Calls a function with up to *size* questions at once, one list after the other, in a thread of its own.

    A question waits *gather_s* seconds for others, or until the list before is answered. One that nobody
    waits for any more is left out.
    """

    def __init__(self, answer: Callable[[list[Q]], list[A]], *, size: int, gather_s: float) -> None:
        self._answer = answer
        self._size = size
        self._gather_s = gather_s
        self._waiting: list[tuple[Q, asyncio.Future[A | Exception]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="batches")

    async def put(self, question: Q) -> A:
        """Return the answer to *question*. Raises whatever the function raises for it."""
        answered: asyncio.Future[A | Exception] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answered))
        self._put_soon()
        answer = await answered
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def in_its_thread(self, function: Callable[[], A]) -> A:
        """Return the result of *function*, called in the thread that makes the answers."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # Not waited for: Python has no way to end a thread, and a model that never answers must not keep
        # the run from ending.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _put_soon(self) -> None:
        if self._busy or not self._waiting:
            return
        if len(self._waiting) >= self._size:
            self._put_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._gather_s, self._put_now)

    def _put_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = [one for one in self._waiting if not one[1].done()]
        batch, self._waiting = waiting[: self._size], waiting[self._size :]
        if not batch:
            return
        self._busy = True
        call = asyncio.get_running_loop().run_in_executor(
            self._pool, self._answers, [question for question, _ in batch]
        )
        call.add_done_callback(lambda done: self._answered(batch, done))

    def _answers(self, questions: list[Q]) -> list[A | Exception]:
        try:
            answers = list(self._answer(questions))
            if len(answers) != len(questions):
                raise ValueError(f"{len(answers)} answers came to {len(questions)} questions")
        except Exception as error:  # noqa: BLE001 - handed over, each to who asked
            if len(questions) == 1:
                return [error]
            # A fault of one question isn't the others'.
            return [answer for question in questions for answer in self._answers([question])]
        return [*answers]

    def _answered(
        self, batch: list[tuple[Q, asyncio.Future[A | Exception]]], call: asyncio.Future[list[A | Exception]]
    ) -> None:
        self._busy = False
        if call.cancelled():  # closed
            return
        for (_, waiting), answer in zip(batch, call.result(), strict=True):
            if not waiting.done():
                waiting.set_result(answer)  # an error too: no future can hold StopIteration
        self._put_soon()
