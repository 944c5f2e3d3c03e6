"""
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


class TokenBucket(Protocol):
    """What it takes to ask."""

    async def take(self) -> None:
        """Return with a token. Whoever is cancelled by then has none."""
        ...

    def spend(self) -> None:
        """The token is used for an ask that is sent now."""
        ...


class RateLimit:
    """Lets *asks* through per *per_s* seconds."""

    def __init__(self, asks: int, per_s: float) -> None:
        self.asks = asks
        self.per_s = per_s
        self.tokens: TokenBucket = LocalTokenBucket(asks, per_s)

    async def wait(self) -> None:
        """Return when the next ask is to be sent."""
        await self.tokens.take()
        self.tokens.spend()


class TokenQueue:
    """Those who wait for a token."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self, put_back: Callable[[], None]) -> None:
        """Return with a token; *put_back* takes the one that came as whoever waited was cancelled."""
        token: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(token)
        try:
            await token
        except asyncio.CancelledError:
            if not token.cancelled():
                put_back()
            raise

    def give(self) -> bool:
        """Return whether somebody was still waiting for the token that is there now."""
        while self._waiting:
            token = self._waiting.popleft()
            if not token.done():
                token.set_result(None)
                return True
        return False


class LocalTokenBucket:
    """As many as there are *asks*, each free again *per_s* seconds after it was spent, by *clock*."""

    def __init__(self, asks: int, per_s: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._free = asks
        self._per_s = per_s
        self._clock = clock
        self._queue = TokenQueue()
        self._spent: deque[float] = deque()
        """When, of those whose time is not over."""
        self._timer: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        self._release()
        if self._free:
            self._free -= 1
        else:
            await self._queue.wait(self.put_back)

    def spend(self) -> None:
        self._spent.append(self._clock())
        if self._timer is None:
            self._look_later()

    def put_back(self) -> None:
        """A token was not used."""
        if not self._queue.give():
            self._free += 1

    def _release(self) -> None:
        while self._spent and self._clock() - self._spent[0] > self._per_s:
            self._spent.popleft()
            self.put_back()

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
