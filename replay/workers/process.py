"""
A worker process, seen from the program that started it, and the failures in a row that workers count
together, in memory that they share.

It is given its job as the first message of a pipe (``multiprocessing.connection``), sends what it has to tell
by the same pipe, and last a ``WorkerResult`` or a ``WorkerFailure``.
"""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import os
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from struct import Struct
from threading import Thread
from typing import IO, Any

from loky import cpu_count

from replay.core.errors import InputError, PluginError, ReplayError, ResolverError, RunError, RunStoppedError
from replay.core.lifetimes import in_thread
from replay.core.logs import child_environment

_COUNTS = Struct("=II")
"""Of one endpoint: failures since its last answer; whether it ever answered."""


def shared_memory(endpoints: int) -> IO[bytes]:
    """Return an open file without a name, to be handed to each process that counts."""
    memory = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    memory.truncate(max(1, endpoints) * _COUNTS.size)
    return memory


class SharedFailureCounts:
    """Counts of each endpoint; turns of a load run are too many to look for them in its database."""

    def __init__(self, memory: int, endpoints: Sequence[str]) -> None:
        """*memory* is the descriptor of ``shared_memory`` for as many *endpoints*, in the same order."""
        self._descriptor = memory
        self._map = mmap.mmap(memory, max(1, len(endpoints)) * _COUNTS.size)
        self._offsets = {name: number * _COUNTS.size for number, name in enumerate(endpoints)}

    def has_answered(self, name: str) -> bool:
        return bool(_COUNTS.unpack_from(self._map, self._offsets[name])[1])

    def answered(self, name: str) -> None:
        # Looked at first: almost always there is nothing to change, and nothing to lock.
        if _COUNTS.unpack_from(self._map, self._offsets[name]) != (0, 1):
            with self._lock():
                _COUNTS.pack_into(self._map, self._offsets[name], 0, 1)

    def failed(self, name: str) -> int:
        with self._lock():
            failures, has_answered = _COUNTS.unpack_from(self._map, self._offsets[name])
            _COUNTS.pack_into(self._map, self._offsets[name], failures + 1, has_answered)
        return int(failures) + 1

    @contextmanager
    def _lock(self) -> Iterator[None]:
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)


STOPPING_S = 10.0
"""How long a worker that is to end may take to store what it has."""
_KINDS = (RunStoppedError, PluginError, RunError, InputError, ResolverError, ReplayError)


class WorkerGoneError(ReplayError):
    """A worker ended before it was done."""


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """What a worker, or a part of its work, came to."""

    value: Any


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """Why a worker could not go on."""

    error: Exception

    @classmethod
    def of(cls, error: Exception) -> WorkerFailure:
        """Return *error* as another process can raise it: of ours kind and words, of a bug all there is."""
        for kind in _KINDS:
            if isinstance(error, kind):
                return cls(kind(str(error)))
        bug = RuntimeError(f"{type(error).__name__}: {error}")
        bug.add_note("".join(traceback.format_exception(error)))
        return cls(bug)


class WorkerProcess:
    """One worker; ``start`` it, and ``close`` it whatever came of that."""

    def __init__(
        self,
        module: str,
        job: Any,
        *,
        workers: int,
        memory: int,
        lock: int,
        gone: str,
        told: Callable[[Any], None] = lambda message: None,
    ) -> None:
        """
        Describe the worker that does its *job* by ``work`` in *module*.

        Args:
            module: The module's dotted name.
            job: What to do; it is pickled.
            workers: How many there are on this machine.
            memory: The descriptor of what they share (``shared_memory``).
            lock: That of the run's lock, which it holds with this program: nobody else writes the run before
                it has ended.
            gone: What to say where it ends before it is done.
            told: Called in the event loop with each message of the worker that is no result.
        """
        self._module = module
        self._job = job
        self._workers = workers
        self._descriptors = (memory, lock)
        self._gone = gone
        self._told = told
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None
        self._pipe: Connection | None = None
        self._reading: Thread | None = None
        self._results: asyncio.Queue[WorkerResult | WorkerFailure | None] = asyncio.Queue()
        self._is_over = False
        """Its last message came, and it ends by itself."""

    async def start(self) -> None:
        """Start it and hand it its job."""
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._pipe = Connection(ours.dup().detach())
        with theirs:
            environment = _environment(self._workers)
            self._process = await _spawn(self._module, theirs, self._descriptors, environment)
        loop = asyncio.get_running_loop()
        self._reading = Thread(target=self._read, args=[self._pipe, loop], name="worker", daemon=True)
        self._reading.start()
        await self.send(self._job)

    async def send(self, message: Any) -> None:
        """Send *message*; where the worker is gone ``result`` says so."""
        assert self._pipe is not None
        with suppress(OSError):
            await in_thread(self._pipe.send, message)

    async def result(self) -> Any:
        """
        Return the value of the next result.

        Raises:
            WorkerGoneError: the worker ended before.
            ReplayError: it could not go on.
        """
        result = await self._results.get()
        if result is None:
            self._results.put_nowait(None)  # for who asks again
            raise WorkerGoneError(self._gone)
        if isinstance(result, WorkerFailure):
            raise result.error
        return result.value

    async def finish(self) -> None:
        """Wait until it has ended by itself: its work is done."""
        self._is_over = True
        await self.close()

    async def close(self) -> None:
        """End it, if need be by force, and hear the last of what it has to tell."""
        try:
            if self._socket is not None:
                await self.send(None)  # it may be waiting for a message
            if self._process is not None:
                await self._end(self._process)
        finally:
            try:
                if self._reading is not None:
                    await in_thread(self._reading.join)
            finally:
                if self._socket is not None and self._pipe is not None:
                    self._pipe.close()
                    self._socket.close()
                    self._socket = None

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        try:
            if process.returncode is None and not self._is_over:
                with suppress(ProcessLookupError):
                    process.terminate()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOPPING_S):
                    await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def _read(self, pipe: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Hand on message after message until the other end is closed."""
        with suppress(RuntimeError):  # the loop is closed, and nobody listens any more
            while True:
                try:
                    message = pipe.recv()
                except (EOFError, OSError):
                    loop.call_soon_threadsafe(self._results.put_nowait, None)
                    return
                if isinstance(message, WorkerFailure):
                    self._is_over = True
                is_result = isinstance(message, WorkerResult | WorkerFailure)
                loop.call_soon_threadsafe(self._results.put_nowait if is_result else self._told, message)


def _environment(workers: int) -> dict[str, str]:
    """Return the environment variables of one of *workers* processes."""
    # Else each would do its arithmetic on all cores, and they would wait for one another.
    threads = {"OMP_NUM_THREADS": str(max(1, cpu_count() // workers))}
    # They find the same modules, wherever this program was started from.
    modules = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {**threads, **os.environ, **modules, **child_environment()}


async def _spawn(
    module: str, end: socket.socket, shared: tuple[int, int], environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    descriptors: Sequence[int] = (end.fileno(), *shared)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "replay.workers.worker_main",
        module,
        *map(str, descriptors),
        str(os.getpid()),
        pass_fds=descriptors,
        env=environment,
        start_new_session=True,  # Ctrl-C is the parent's to handle, from the first moment on
    )


def check_platform(key: str) -> None:
    """
    Check that this system can start workers.

    Raises:
        InputError: it has no such processes; *key* is the setting that asks for them.
    """
    if sys.platform == "win32":
        raise InputError(f"{key}: several processes need Linux or macOS; use 1 here")
