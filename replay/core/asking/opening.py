"""Opening what holds something open, such as an adapter with its connections, and leaving the rest alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from replay.core.asking.retries import Endpoint


@asynccontextmanager
async def open_all(parts: Iterable[object]) -> AsyncIterator[None]:
    """Enter those of *parts* that are async context managers, each object once, until the block ends."""
    async with AsyncExitStack() as stack:
        for part in {id(part): part for part in parts}.values():
            if isinstance(part, AbstractAsyncContextManager):
                await stack.enter_async_context(part)
        yield


def open_endpoints(endpoints: Iterable[Endpoint]) -> AbstractAsyncContextManager[None]:
    """Return a context manager that keeps the adapters of *endpoints* open; endpoints may share them."""
    return open_all(one.adapter for one in endpoints)
