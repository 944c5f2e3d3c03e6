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
