"""A chat server for tests that know nothing of event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from threading import Thread
from typing import Any, TypeVar

from replay.testing.local_server import ChatServer, chat_server

T = TypeVar("T")


@contextmanager
def mock_system(delay_s: float = 0.0) -> Iterator[ChatServer]:
    """
    Run a system under test on a real socket of this machine, in a thread, as long as the block lasts.

    Its ``system`` is its entry in a scenario. ``answers`` has its answers by question, ``broken`` the
    questions that fail, and ``asked`` how often each was asked. Every answer takes *delay_s* seconds.
    """
    loop, opened = asyncio.new_event_loop(), AsyncExitStack()
    thread = Thread(target=loop.run_forever, name="mock-system", daemon=True)
    thread.start()

    def wait_for(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        yield wait_for(opened.enter_async_context(chat_server(delay_s)))
    finally:
        wait_for(opened.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
