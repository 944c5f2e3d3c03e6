"""
An endpoint's limits: when everything stops since it fails, and how many asks it takes in so much time.

The circuit breaker stops at once, or after so many failures in a row. A system that refuses our key will
refuse it ten thousand times; a system that is down makes a row of failures that says nothing about its
answers. Both are for a person to mend before the run goes on.

A system's politeness limit: at most so many asks in so much time.

There are as many tokens as asks. An ask takes one, first come, first served, and spends it as it is sent; so
long after that the token is free again. No stretch of time of that length has more asks in it, whoever spends
the tokens and however late the news of it comes.

Not by asyncio-throttle, whose waiters look every 10 ms: 1,000 of them at 10 asks per second took 65 % of a
core (here under 1 %), and were served in no order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from replay.core.errors import AdapterError, RunStoppedError

KEY_REFUSED = (401, 403)
"""Statuses that say that we, not the question, aren't wanted."""


class CircuitBreaker(Protocol):
    """Told how asks end, one after another; retries have been tried by then."""

    stop: RunStoppedError | None
    """Why nothing more is to be asked; to be raised once the failure is recorded."""

    def answered(self, name: str) -> None:
        """Count an answered ask of the endpoint *name*."""
        ...

    async def failed(self, name: str, error: AdapterError) -> None:
        """
        Count a final failure of an ask of the endpoint *name*.

        Raises:
            RunStoppedError: it refuses our key and has answered nothing yet. The ask counts as not made:
                recorded as a failure, it would not be asked again when the key is mended.
        """
        ...


class FailureCounts(Protocol):
    """How asks of each endpoint ended so far."""

    def has_answered(self, name: str) -> bool:
        """Return whether *name* ever answered."""
        ...

    def answered(self, name: str) -> None:
        """Note that *name* answered."""
        ...

    def failed(self, name: str) -> int:
        """Note that *name* failed once more; return how often it has since its last answer."""
        ...


class OwnFailureCounts:
    """Those of what this process asks."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._in_a_row: dict[str, int] = {}

    def has_answered(self, name: str) -> bool:
        return name in self._answered

    def answered(self, name: str) -> None:
        self._answered.add(name)
        self._in_a_row[name] = 0

    def failed(self, name: str) -> int:
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1
        return self._in_a_row[name]


class Breaker:
    """The one that looks at how often an endpoint failed."""

    def __init__(
        self,
        stop_after: int | None = None,
        *,
        fail_fast: bool = True,
        who: str = "system",
        way_out: str = "",
        counts: FailureCounts | None = None,
    ) -> None:
        """
        *stop_after* failures of one endpoint in a row stop everything; None stands for any number.

        *who* is what an endpoint is called; *way_out* says how to go on with a refused key; *counts* are of
        this process where they are left out.
        """
        self._stop_after = stop_after
        self._fail_fast = fail_fast
        self._who = who
        self._way_out = way_out
        self._counts = counts or OwnFailureCounts()
        self.stop: RunStoppedError | None = None

    def answered(self, name: str) -> None:
        self._counts.answered(name)

    async def failed(self, name: str, error: AdapterError) -> None:
        if self._fail_fast and error.status in KEY_REFUSED and not self._counts.has_answered(name):
            raise RunStoppedError(
                f'stopped: {self._who} "{name}" refused us before it answered anything, so it would refuse '
                f"everything: {_printable_error(error)}.{self._way_out}"
            )
        in_a_row = self._counts.failed(name)
        # More than that where another process counted the one that made it as many.
        if self.stop is None and self._stop_after is not None and in_a_row >= self._stop_after:
            failures = "failure" if self._stop_after == 1 else "failures in a row"
            self.stop = RunStoppedError(
                f'stopped: {self._who} "{name}" brought {self._stop_after} {failures} (play.stop_after); '
                f"the last one: {_printable_error(error)}"
            )


def _printable_error(error: AdapterError) -> str:
    """Return the message of *error* with unprintable characters replaced by spaces, safe for a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(error))


class RateLimit:
    """Lets *asks* through per *per_s* seconds."""

    def __init__(self, asks: int, per_s: float) -> None:
        self.asks = asks
        self.per_s = per_s
        self.tokens: LocalTokenBucket = LocalTokenBucket(asks, per_s)

    async def wait(self) -> None:
        """Return when the next ask is to be sent."""
        await self.tokens.take()
        self.tokens.spend()


class LocalTokenBucket:
    """As many as there are *asks*, each free again *per_s* seconds after it was spent, by *clock*."""

    def __init__(self, asks: int, per_s: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._asks = asks
        self._free = asks
        self._surplus = 0
        """So many of those that are spent or taken are not given out again."""
        self._has_shrunk = asyncio.Event()
        self._per_s = per_s
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._spent: deque[float] = deque()
        """When, of those whose time is not over."""
        self._timer: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        """Return with a token. Whoever is cancelled by then has none."""
        self._release()
        if self._free:
            self._free -= 1
            return
        token: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(token)
        try:
            await token
        except asyncio.CancelledError:
            if not token.cancelled():
                self._put_back()
            raise

    def spend(self) -> None:
        """Use the token for an ask that is sent now."""
        self._spent.append(self._clock())
        if self._timer is None:
            self._look_later()

    async def resize(self, asks: int) -> None:
        """Have so many tokens from now on; return when no more than that can have been spent of late."""
        self._release()
        self._surplus += self._asks - asks
        self._asks = asks
        for _ in range(min(self._free, max(self._surplus, 0))):
            self._free -= 1
            self._surplus -= 1
        while self._surplus < 0:
            self._surplus += 1
            self._give()
        self._has_shrunk.set()  # for who has asked for fewer before
        while self._surplus:
            self._has_shrunk.clear()
            await self._has_shrunk.wait()

    def _put_back(self) -> None:
        if self._surplus:
            self._surplus -= 1
            self._has_shrunk.set()
        else:
            self._give()

    def _give(self) -> None:
        """Let the first who still waits have a token, or keep it."""
        while self._waiting:
            token = self._waiting.popleft()
            if not token.done():
                token.set_result(None)
                return
        self._free += 1

    def _release(self) -> None:
        while self._spent and self._clock() - self._spent[0] > self._per_s:
            self._spent.popleft()
            self._put_back()

    def _look_later(self) -> None:
        left_s = self._spent[0] + self._per_s - self._clock()
        self._timer = asyncio.get_running_loop().call_later(max(left_s, _SHORTEST_S), self._look)

    def _look(self) -> None:
        self._timer = None
        self._release()
        if self._spent:
            self._look_later()


_SHORTEST_S = 0.001
"""A loop's own clock may run ahead of ours by as much."""
