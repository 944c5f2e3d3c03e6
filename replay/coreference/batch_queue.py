"""What one kind of question to coreference workers waits for, and what is known of it already."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

S = TypeVar("S", bound=Hashable)
R = TypeVar("R")

REMEMBERED = 4096
"""Results of each kind kept, oldest use dropped first: the same answers come under several policies, and of
several systems."""


class BatchQueue(Generic[S, R]):
    """One kind of question to the workers: what waits for it, and what is already known."""

    def __init__(self, task: str, unpack: Callable[[Any], R]) -> None:
        self.task = task
        """The worker's method."""
        self.unpack = unpack
        """Makes the result of what the worker answers."""
        self.waiting: deque[S] = deque()
        self.later: deque[S] = deque()
        """What waits until nothing else does."""
        self._pending: dict[S, asyncio.Future[R]] = {}
        # As the worker packed them: thousands of readings would be looked through by every collection.
        self._known: OrderedDict[S, Any] = OrderedDict()

    def ask(self, sent: S, *, later: bool = False) -> asyncio.Future[R] | R:
        """What the workers answer to *sent*, or the future of it; *later* lets others go first."""
        if sent in self._known:
            self._known.move_to_end(sent)
            return self.unpack(self._known[sent])
        future = self._pending.get(sent)
        if future is None:
            future = self._pending[sent] = asyncio.get_running_loop().create_future()
            (self.later if later else self.waiting).append(sent)
        return future

    def answer(self, batch: Sequence[S], answers: Sequence[Any]) -> None:
        """Give the workers' *answers* to *batch* to whoever waits for them."""
        for sent, result in zip(batch, [self.unpack(answer) for answer in answers], strict=True):
            self._pending.pop(sent).set_result(result)
        self._known |= zip(batch, answers, strict=True)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def fail(self, batch: Sequence[S], error: Exception) -> None:
        """Let *error* be the answer, for now: who asks again is not told of it."""
        for sent in batch:
            future = self._pending.pop(sent)
            future.set_exception(error)
            future.exception()  # whoever still waits gets it; nobody waiting is no news
