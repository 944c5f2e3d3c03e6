"""
A worker process: ``python -m replay.workers.worker_main MODULE PIPE MEMORY LOCK PARENT``.

It does what ``work`` in a module does with the job that the parent sends. It ends when that is done, when the
parent asks for it (SIGTERM), or when the parent is gone. LOCK is the run's: while this process has it open,
no other program can write the run.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from replay.core.lifetimes import leave_with
from replay.core.logs import configure_from_environment
from replay.core.terminal import guard_streams
from replay.play.event_loop import first_failure, run_on_loop
from replay.workers.process import WorkerFailure, WorkerResult


class Parent:
    """The program that started this process, at the other end of a pipe."""

    def __init__(self, pipe: Connection, memory: int, gone: Callable[[], object]) -> None:
        """
        Listen to the parent.

        Args:
            pipe: The way to it.
            memory: The descriptor of what all workers of the run share.
            gone: Called, in a thread, at the moment when the parent is no longer there.
        """
        self.memory: int = memory
        self._pipe = pipe
        self._gone = gone
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self._is_over = False
        loop = asyncio.get_running_loop()
        Thread(target=self._read, args=[loop], name="parent", daemon=True).start()

    async def receive(self) -> Any:
        """Return its next message; None where it sends no more."""
        return await self._messages.get()

    def send(self, message: Any) -> None:
        """Send *message*; of a parent that is gone this process hears otherwise."""
        with suppress(OSError):
            self._pipe.send(message)

    def close(self) -> None:
        """Say that nothing more comes, and listen no longer."""
        self._is_over = True
        with suppress(OSError), socket.socket(fileno=os.dup(self._pipe.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with closing(self._pipe), suppress(RuntimeError):  # of a loop that is closed
            while True:
                try:
                    message = self._pipe.recv()
                except (EOFError, OSError):
                    if not self._is_over:
                        self._gone()
                    loop.call_soon_threadsafe(self._messages.put_nowait, None)
                    return
                loop.call_soon_threadsafe(self._messages.put_nowait, message)


async def serve_parent(
    module: str, pipe: Connection, memory: int, gone: Callable[[], object] = lambda: None
) -> None:
    """Do what ``work`` in *module* does, and say what it came to; the rest as for ``Parent``."""
    with closing(Parent(pipe, memory, gone)) as parent:
        if (job := await parent.receive()) is None:
            return
        try:
            with first_failure():
                result = await import_module(module).work(job, parent)
        except Exception as error:  # noqa: BLE001 - the parent gets it
            parent.send(WorkerFailure.of(error))
        else:
            parent.send(WorkerResult(result))


async def _serve(module: str, pipe: Connection, memory: int) -> None:
    # At once: whoever resumes the run must not meet one that still asks.
    working = asyncio.create_task(serve_parent(module, pipe, memory, gone=lambda: os._exit(0)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    await asyncio.wait({working})
    if not working.cancelled():
        working.result()


def main() -> None:
    """Run the worker: the entry point of its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    guard_streams()
    configure_from_environment()
    module, pipe, memory, lock, parent = sys.argv[1:]
    leave_with(int(parent))
    for descriptor in (pipe, memory, lock):
        os.set_inheritable(int(descriptor), False)  # this process may start others
    run_on_loop(_serve(module, Connection(int(pipe)), int(memory)))


if __name__ == "__main__":
    main()
