"""
The wire between the program that plays a run and an actor of Ray's.

What the one writes goes with a call of the actor; what the other writes is fetched by one call after another,
each of which waits until there is something.

Only calls of an actor, so that it works wherever Ray does: from outside of a cluster, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from replay.workers.cluster.rpc import PeerGoneError

TOGETHER_S = 0.005
"""A call costs a millisecond of both ends: what is written within this time goes with one."""
FETCH_S = 1.0
"""So long a call waits for something before it gives nothing."""
FENCE_S = 5.0
"""An actor that nothing was fetched from for so long begins no further question, since others may have been
given what it plays. Shorter than Ray takes to call a node lost that can't be reached."""


class ActorTransport:
    """The program's end."""

    def __init__(self, actor: Any, gone: Callable[[Exception], str]) -> None:
        """*gone* is told why the actor no longer answers, and says so in a sentence."""
        self._actor = actor
        self._gone = gone
        self._sent = 0
        self._messages: list[bytes] = []
        self._is_closed = False

    def write(self, messages: Any) -> None:
        """*messages*, or what stands for them in Ray's object store."""
        if not self._is_closed:
            self._actor.take.remote(self._sent, messages)
            self._sent += 1

    async def read(self) -> bytes | None:
        import ray

        while not self._messages:
            if self._is_closed:
                return None
            try:
                batch = await called(self._actor.give)
            except ray.exceptions.RayError as error:
                self._is_closed = True
                if isinstance(error, ray.exceptions.ActorUnavailableError):
                    await asyncio.sleep(FENCE_S)  # it may live, and by then it asks nothing more
                raise PeerGoneError(self._gone(error)) from error
            if batch is None:
                self._is_closed = True
                return None
            self._messages = batch[::-1]
        return self._messages.pop()

    async def wait_reachable(self) -> None:
        """At once: ``read`` says where the actor is gone."""

    def close(self) -> None:
        self._is_closed = True

    async def finish(self) -> None:
        self.close()


async def called(method: Any, *arguments: Any) -> Any:
    """
    What *method* of an actor gives.

    Raises:
        RayError: the actor is gone, or *method* failed.
    """
    return await asyncio.wrap_future(method.remote(*arguments).future())


class NodeTransport:
    """The actor's end."""

    def __init__(self) -> None:
        self._came: dict[int, list[bytes]] = {}
        self._taken = 0
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._written: list[bytes] = []
        self._has_some = asyncio.Event()
        self._all_given = asyncio.Event()
        self._is_closed = False
        self._given_at = asyncio.get_running_loop().time()
        self._giving = asyncio.Event()

    def take(self, number: int, messages: list[bytes]) -> None:
        """*messages* of the program's write of that *number*, from 0: calls may overtake each other."""
        self._came[number] = messages
        while self._taken in self._came:
            for message in self._came.pop(self._taken):
                self._messages.put_nowait(message)
            self._taken += 1

    async def give(self) -> list[bytes] | None:
        """What was written; nothing after a while, None where nothing more will be."""
        self._given_at = asyncio.get_running_loop().time()
        self._giving.set()
        try:
            async with asyncio.timeout(FETCH_S):
                await self._has_some.wait()
        except TimeoutError:
            return []
        if not self._is_closed:
            await asyncio.sleep(TOGETHER_S)
        written, self._written = self._written, []
        if self._is_closed and not written:
            self._all_given.set()
            return None
        if not self._is_closed:
            self._has_some.clear()
        return written

    def write(self, messages: list[bytes]) -> None:
        self._written += messages
        self._has_some.set()

    async def read(self) -> bytes | None:
        return await self._messages.get()

    async def wait_reachable(self) -> None:
        while asyncio.get_running_loop().time() - self._given_at > FENCE_S:
            self._giving.clear()
            await self._giving.wait()

    def close(self) -> None:
        self._is_closed = True
        self._has_some.set()
        self._messages.put_nowait(None)

    async def finish(self) -> None:
        self.close()
        await self._all_given.wait()
