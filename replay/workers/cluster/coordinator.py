"""What the program does for all actors of a run: it keeps records, counts failures and shares out limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from replay.core.asking.limits import RateLimit
from replay.core.errors import AdapterError
from replay.core.logs import relog
from replay.play.event_loop import gather_or_cancel
from replay.play.load.level import share_of
from replay.play.player import system_breaker
from replay.scenario.assembly import Assembly
from replay.store.schema import Row
from replay.store.store import RunStore
from replay.workers.cluster.actor import RecordBatch
from replay.workers.cluster.actor_pool import ActorHandle, ActorLostError
from replay.workers.job import restore_later


class RecordReceiver:
    """Takes what actors send into the run's database, and stops the run where a system is asked in vain."""

    def __init__(
        self,
        assembly: Assembly,
        store: RunStore,
        keep_rows: Callable[[ActorHandle, list[Row]], Awaitable[None]],
        count: Callable[[Any], None] = lambda counted: None,
    ) -> None:
        """*keep_rows* returns when an actor's rows are durable in *store*; *count* takes what it counted."""
        self._breaker = system_breaker(assembly.patience)
        self._raw_limit_bytes = assembly.file.scenario.play.raw_limit_bytes
        self._store = store
        self._keep_rows = keep_rows
        self._count = count

    async def receive(self, actor: ActorHandle) -> None:
        """
        Keep what *actor* sends, until it has ended.

        Raises:
            RunStoppedError: a system refuses our key, or failed too often in a row.
            ActorLostError: it is gone.
        """
        is_stopping = False
        while True:
            batch: RecordBatch = await actor.call("records", is_stopping)
            await self._keep(actor, batch)
            failures = await self._count_failures(batch)
            if batch.is_last:
                return
            if self._breaker.stop is not None and not actor.is_ending.is_set():
                if is_stopping:  # the failures have their records now
                    raise self._breaker.stop
                if not failures:
                    await actor.is_ending.wait()
                is_stopping = True

    async def _keep(self, actor: ActorHandle, batch: RecordBatch) -> None:
        """Return when all of *batch* is durable."""
        rows: list[Row] = []
        durable: list[Awaitable[None]] = []
        for kind, content in batch.items:
            if kind == "row":
                rows.append(content)
            elif kind == "step":
                durable.append(self._store.write_step(*content))
            elif kind == "raw":
                self._store.add_raw(content, most_bytes=self._raw_limit_bytes)
            elif kind == "event":
                self._store.add_event(*content)
            elif kind == "counted":
                self._count(content)
            elif kind == "logged":
                relog(content, actor.node.id[:8])
        for one in durable:
            await one
        if rows:
            await self._keep_rows(actor, rows)

    async def _count_failures(self, batch: RecordBatch) -> int:
        """Tell the breaker how asks ended; return how many failed."""
        failures = 0
        for kind, content in batch.items:
            if kind == "answered":
                self._breaker.answered(content)
            elif kind == "failed":
                failures += 1
                name, message, status = content
                await self._breaker.failed(name, AdapterError(message, status=status))
        return failures


class LimitShares:
    """
    A run's rate limits, shared out among all actors that play, and this program where it asks beside them.

    No stretch of time has more asks in it than the whole: who joins gets a share once the others have given
    it up, and that of a lost one is shared out when none of its asks counts any longer.
    """

    def __init__(self, limits: Mapping[str, RateLimit], *, asks_beside: bool) -> None:
        self._limits = limits
        self._members: list[ActorHandle | None] = [None] if asks_beside else []
        """Those that have a share; None for this program."""
        self._passes_s = max((limit.per_s for limit in limits.values()), default=0.0)
        """So long after it was sent no ask counts any longer."""
        self._changing = asyncio.Lock()

    async def join(self, actor: ActorHandle) -> None:
        """Return when *actor* has its share."""
        if not self._limits:
            return
        async with self._changing:
            self._members.append(actor)
            await self._share_out(self._members[:-1])
            await actor.call("set_share", len(self._members) - 1, len(self._members))

    async def leave(self, actor: ActorHandle) -> None:
        """Share out what *actor* had, which is lost."""
        async with self._changing:
            if actor in self._members:
                await asyncio.sleep(self._passes_s)
                self._members.remove(actor)
                await self._share_out(self._members)

    def end(self) -> None:
        """Let this program have all of each limit again, once no ask of an actor counts any longer."""
        restore_later(self._limits.values())

    async def _share_out(self, members: Iterable[ActorHandle | None]) -> None:
        shares = list(enumerate(members))
        await gather_or_cancel(self._set_share(index, member) for index, member in shares)

    async def _set_share(self, index: int, member: ActorHandle | None) -> None:
        among = len(self._members)
        if member is None:
            for limit in self._limits.values():
                await limit.tokens.resize(share_of(limit.asks, index, among))
            return
        with suppress(ActorLostError):
            await member.call("set_share", index, among)
            return
        await asyncio.sleep(self._passes_s)
