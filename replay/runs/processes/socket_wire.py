"""The wire between processes of one machine: a pair of sockets, each message after its length."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from struct import Struct
from typing import Self

_LENGTH = Struct("!I")


class SocketWire:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def of(cls, end: socket.socket) -> Self:
        """The wire whose *end* this is."""
        try:
            return cls(*await asyncio.open_connection(sock=end))
        except BaseException:
            end.close()
            raise

    def write(self, messages: list[bytes]) -> None:
        if not self._writer.is_closing():
            self._writer.writelines(
                part for message in messages for part in (_LENGTH.pack(len(message)), message)
            )

    async def read(self) -> bytes | None:
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def in_touch(self) -> None:
        """At once: on one machine the other end is there, or ``read`` says that it is gone."""

    def close(self) -> None:
        self._writer.close()

    async def finish(self) -> None:
        with suppress(ConnectionError):
            await self._writer.drain()
            # A socket closed with something unread is reset, and the other end would lose what came last.
            self._writer.write_eof()
            while await self._reader.read(2**16):
                pass
            self._writer.close()
            await self._writer.wait_closed()
