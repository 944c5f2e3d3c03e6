"""
Politeness limits of a run that several processes play: who plays leases its tokens from who has them.

A leased token's time begins when the news comes that it was spent, which is never before it was: so the limit
holds whatever time messages take. A token is free again that much later, though: of a limit over a second,
with messages that take 10 ms, 99 % can be used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from replay.core.asking.rate_limit import LocalTokenBucket, RateLimit, TokenQueue
from replay.workers.cluster.rpc import RpcConnection


class RateLimitLeases:
    """The tokens of all, for those that play: what they may call. Each says its number, from 0."""

    def __init__(self, limits: Mapping[str, RateLimit]) -> None:
        """*limits* by who has them."""
        self._tokens = {who: limit.tokens for who, limit in limits.items()}
        self._held: Counter[tuple[int, str]] = Counter()

    async def lease(self, worker: int, who: str) -> None:
        """Return when *worker* has one more token for *who*."""
        await self._tokens[who].take()
        self._held[worker, who] += 1

    def spent(self, worker: int, who: str) -> None:
        """One of them was used."""
        self._held[worker, who] -= 1
        self._tokens[who].spend()

    def unspent(self, worker: int, who: str) -> None:
        """One of them isn't needed."""
        self._held[worker, who] -= 1
        tokens = self._tokens[who]
        assert isinstance(tokens, LocalTokenBucket)
        tokens.put_back()

    def take_back(self, worker: int) -> None:
        """Nothing more comes from *worker*: what it had may just have been spent."""
        for lender, who in list(self._held):
            if lender == worker:
                for _ in range(self._held.pop((lender, who))):
                    self._tokens[who].spend()


class LeasedTokens:
    """The tokens for *who* that this actor may use; at the other end of *rpc* are those of all."""

    def __init__(self, rpc: RpcConnection, worker: int, who: str) -> None:
        self._rpc = rpc
        self._place = worker, who
        self._queue = TokenQueue()

    async def take(self) -> None:
        self._rpc.call("lease", *self._place).add_done_callback(self._came)
        await self._queue.wait(self._put_back)

    def spend(self) -> None:
        self._rpc.notify("spent", *self._place)

    def _came(self, lease: Any) -> None:
        # Where it never comes, the other end is gone, and with it whoever waits.
        if not lease.cancelled() and lease.exception() is None:
            self._put_back()

    def _put_back(self) -> None:
        if not self._queue.give():
            self._rpc.notify("unspent", *self._place)
