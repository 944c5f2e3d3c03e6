"""A server that replies as a service of ``services.py`` does, but for the fields it is told to get wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay import AdapterError, ChatReply, ChatRequest, Conversation
from replay.core.asking.retries import Deadlines, ask_within
from replay.core.settings.plugins import build, load
from tests.fuzz.replies import check_error, check_reply
from tests.fuzz.services import Field, Literally, Service
from tests.waiting import others_first

DEADLINE_S = 0.1
"""For what waits: a job that never ends, a bot that says no more."""


def changed(value: Any, path: Field, to: Any) -> Any:
    """*value* with something else at *path*."""
    if not path:
        return to
    if isinstance(value, list):
        return [changed(item, path[1:], to) if str(n) == path[0] else item for n, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: changed(item, path[1:], to) if key == path[0] else item for key, item in value.items()}
    return value  # a change before this one took it away


def as_sent(value: Any) -> str:
    """*value* as JSON, with what stands there literally."""
    if isinstance(value, Literally):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{as_sent(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_sent, value)) + "]"
    return json.dumps(value)


@dataclass(slots=True)
class Server:
    """Replies as its service does, but for what was drawn."""

    service: Service
    address: str = ""
    wrong: Mapping[Field, Any] = field(default_factory=dict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = lines.partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
                writer.write(self._reply(lines))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _reply(self, lines: str) -> bytes:
        method, target, *_ = lines.split(" ")
        path = target.partition("?")[0]
        ends = next(
            end
            for end in self.service.replies
            if path.endswith(end) or end.lower() == f"{method} /{path.rpartition('/')[2]}"
        )
        value = self.service.replies[ends]
        headers = {"Content-Type": "application/json", **self.service.headers.get(ends, {})}
        status = "200 OK"
        for (where, kind, *keys), to in self.wrong.items():
            if where == ends and kind == "json":
                value = changed(value, tuple(keys), to)
            elif where == ends and kind == "header":
                headers[keys[0]] = to
            elif where == ends:
                status = to
        if self.service.stream and isinstance(value, list) and not isinstance(value, Literally):
            body = "".join(f"data: {as_sent(item)}\n\n" for item in value).encode()
        else:
            body = as_sent(value).encode()
        headers = {"Content-Length": str(len(body)), **headers}
        shown = b"".join(
            f"{name}: ".encode() + (told if isinstance(told, bytes) else told.encode()) + b"\r\n"
            for name, told in headers.items()
        )
        return f"HTTP/1.1 {status}\r\n".encode() + shown + b"\r\n" + body


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[Server]:
    served = Server(service)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        server.close()
        await others_first()  # the connections' tasks end


async def ask(served: Server, *, within_s: float = DEADLINE_S) -> ChatReply | AdapterError:
    """What came of asking, as the player would."""
    settings = json.loads(json.dumps(served.service.settings).replace("ADDRESS", served.address))
    adapter: Any = build(load("adapters", served.service.adapter, Path()), settings, folder=Path())
    request = ChatRequest(question="Who?", history=(), depth=1, keep_raw=True)
    outcome: ChatReply | AdapterError
    async with adapter:
        try:
            async with adapter.session(Conversation(id="c", turns=())) as session:
                outcome = await ask_within(session, request, Deadlines(within_s))
        except AdapterError as error:
            outcome = error
    return outcome


def check(outcome: ChatReply | AdapterError) -> None:
    if isinstance(outcome, ChatReply):
        check_reply(outcome)
    else:
        check_error(outcome)
