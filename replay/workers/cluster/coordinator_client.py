"""
The process that started this one, seen from here: where records go, and who knows what all processes do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any

from replay.core.asking.rate_limit import RateLimit
from replay.core.errors import AdapterError, RunStoppedError
from replay.core.raw_reply import RawReply
from replay.core.record import TurnRecord
from replay.core.step import Step, TurnPlace
from replay.store.schema import Row, record_row
from replay.workers.cluster.leases import LeasedTokens
from replay.workers.cluster.rpc import RpcConnection


class CoordinatorClient:
    """A sink of records, and the circuit breaker of all processes together."""

    def __init__(self, rpc: RpcConnection, awaited: int | None) -> None:
        """*awaited* is the number of the call that began all this."""
        self.rpc = rpc
        self.awaited = awaited
        """The call that is still to be answered: that which began all this, then the one that ends it."""
        self.result: Any = None
        """What that one gives."""
        self.stop: RunStoppedError | None = None
        self._rows: list[Row] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._answered: set[str] = set()
        """Endpoints, since the parent was told last."""

    async def serve(self, served: object) -> None:
        """Say that all is ready, and let the parent call the methods of *served* until it wants no more."""
        self.rpc.answer(self.awaited, None)
        self.awaited = await self.rpc.serve(served)
        self.send()

    async def write(self, record: TurnRecord) -> None:
        """Return when *record* is durable; those of one turn of the loop are sent together."""
        loop = asyncio.get_running_loop()
        if not self._rows:
            loop.call_soon(self.send)
        self._rows.append(record_row(record))
        durable: asyncio.Future[None] = loop.create_future()
        self._waiting.append(durable)
        await durable

    def send(self) -> None:
        """Send what there is."""
        rows, self._rows = self._rows, []
        waiting, self._waiting = self._waiting, []
        if rows:
            kept = self.rpc.call("keep_rows", rows, self.take_answered())
            kept.add_done_callback(partial(_settle, waiting))

    def keep_raw(self, reply: RawReply) -> None:
        """Keep *reply*; durable with the record that is written next."""
        self.rpc.notify("keep_raw", reply)

    def keep_step(self, place: TurnPlace, number: int, asked: str, step: Step) -> Awaitable[None]:
        """As ``RunStore.write_step``."""
        return self.rpc.call("keep_step", place, number, asked, step)

    def add_event(self, kind: str, data: Any) -> None:
        """As ``RunStore.add_event``."""
        self.rpc.notify("add_event", kind, data)

    async def arrived(self, play: tuple[str, str, str]) -> None:
        """Return when the parent has all records of *play*: at once, since each waited for that."""

    def answered(self, name: str) -> None:
        self._answered.add(name)

    async def failed(self, name: str, error: AdapterError) -> None:
        told = self.rpc.call("ask_failed", name, str(error), error.status, self.take_answered())
        if (stop := await told) is not None:
            self.stop = RunStoppedError(stop)

    def take_answered(self) -> set[str]:
        """Systems that answered since this was last called."""
        answered, self._answered = self._answered, set()
        return answered

    def lease(self, limits: Mapping[str, RateLimit], worker: int) -> None:
        """From now on the tokens of *limits* are the parent's, for this *worker* as for all others."""
        for who, limit in limits.items():
            limit.tokens = LeasedTokens(self.rpc, worker, who)


def _settle(waiting: list[asyncio.Future[None]], kept: asyncio.Future[None]) -> None:
    error = None if kept.cancelled() else kept.exception()
    for durable in waiting:
        if durable.done():
            continue
        if error is None:
            durable.set_result(None)
        else:
            durable.set_exception(error)
