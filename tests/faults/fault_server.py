"""
A server that does whatever HTTP forbids, over plain sockets, and counts who comes.

A request is read to its end, then a script is played: bytes as they are, slowly or without end, a connection
closed or reset. What isn't closed by then waits for the next request, as any server's connection does.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from tests.waiting import others_first, takes

Step = Callable[[asyncio.StreamWriter], Awaitable[None]]
Script = Sequence[Step]

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_TLS = b"\x16"
"""What a TLS handshake begins with, which any HTTP server takes for a bad request."""
"""How long a client is given to take in what was sent, before a reset lets it forget that."""


class FaultServer:
    """What came to it."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        """The n-th request is answered with the n-th of *scripts*, later ones with the last."""
        self.address = ""
        self.connections = 0
        self.requests = 0
        self.closed = asyncio.Event()
        """A connection was closed from here."""
        self._scripts = scripts
        self._serving: set[asyncio.Task[object]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Everything that happens on one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                first = await reader.readexactly(1)
                if first == _TLS:
                    writer.write(head("400 Bad Request", length=0))
                    return
                lines = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(lines)
                await reader.readexactly(int(length[1]) if length else 0)
                script = self._scripts[min(self.requests, len(self._scripts) - 1)]
                self.requests += 1
                for step in script:
                    await step(writer)
            self.closed.set()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError):
            pass  # the client went away
        except asyncio.CancelledError:
            pass  # by ``stop``, and by nobody else
        finally:
            writer.close()
            self._serving.discard(task)

    async def stop(self) -> None:
        """End what is under way."""
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@asynccontextmanager
async def playing_faults(*scripts: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[FaultServer]:
    """A running server; its address has no scheme."""
    faults = FaultServer(scripts)
    server = await asyncio.start_server(faults.serve, "127.0.0.1", 0, ssl=tls)
    faults.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield faults
    finally:
        server.close()
        await faults.stop()


def send(data: bytes) -> Step:
    """*data*, as it is."""

    async def step(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return step


def drip(data: bytes, every_s: float = 0.02) -> Step:
    """*data*, byte by byte, again and again."""

    async def step(writer: asyncio.StreamWriter) -> None:
        while True:
            for byte in data:
                writer.write(bytes((byte,)))
                await writer.drain()
                await takes(every_s)

    return step


def endless(data: bytes) -> Step:
    """*data* again and again, as fast as it is read."""

    async def step(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)  # a buffer that never fills up would keep everyone else waiting

    return step


async def stay(writer: asyncio.StreamWriter) -> None:
    """Nothing, for good."""
    await asyncio.get_running_loop().create_future()


async def close(writer: asyncio.StreamWriter) -> None:
    """The end of the connection, in order."""
    writer.close()
    await writer.wait_closed()


async def reset(writer: asyncio.StreamWriter) -> None:
    """The end of the connection with a reset, as a crashed process or a cut route causes it."""
    await others_first()  # what was sent is read before it
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def head(
    status: str = "200 OK", *, kind: str = "application/json", length: int | None = None, more: str = ""
) -> bytes:
    """The head of a reply; chunks follow where it has no *length*."""
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{framing}\r\n{more}\r\n".encode()


def reply(body: bytes, status: str = "200 OK", *, kind: str = "application/json", more: str = "") -> Step:
    """A whole reply."""
    return send(head(status, kind=kind, length=len(body), more=more) + body)


def chunk(data: bytes) -> bytes:
    """*data* as one chunk of a body; an empty one ends it."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
