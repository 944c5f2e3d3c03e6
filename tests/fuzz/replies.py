"""
Adapters, given bad replies over real sockets and pipes: each gives a reply or raises an ``AdapterError``.

The server sends whatever body it is told to, the program prints it; headers and statuses are in order, since
``tests/faults`` plays what can go wrong there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from replay import Adapter, AdapterError, ChatReply, ChatRequest, Conversation
from replay.core.record import TurnRecord
from replay.core.settings.plugins import build, load
from replay.store import schema, tables
from replay.store.database import connect
from tests.adapters.servers import answering, event
from tests.fuzz.inputs import as_json
from tests.fuzz.services import SERVICES
from tests.fuzz.targets import ODD

TIMEOUT_S = 5.0
PATIENCE_S = 0.1

_HTTP = {"answer": ODD, "session": "s1", "passages": [{"id": "p", "text": ODD, "title": "t"}]}
_ACTIVITIES = {
    "activities": [
        {"type": "typing", "id": "a"},
        {"type": "message", "id": "b", "text": ODD, "attachments": [{"contentType": "x"}]},
        {"type": "message", "id": "c", "text": "done", "inputHint": "expectingInput"},
    ],
    "watermark": "3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTarget:
    """An adapter and what its system replies when all is well."""

    adapter: str
    settings: Callable[[str], Mapping[str, Any]]
    """By the server's address."""
    seeds: Sequence[bytes]
    may_wait: bool = False
    """Where nothing of use came, more may still come; the player's deadline ends that."""


def _of(name: str) -> ReplyTarget:
    """One of ``services.py``, whose answers come back as an odd text."""
    service = SERVICES[name]
    reply = json.loads(json.dumps(service.replies[""]).replace('"Yes."', json.dumps(ODD)))
    return ReplyTarget(
        adapter=service.adapter,
        settings=lambda address: json.loads(json.dumps(service.settings).replace("ADDRESS", address)),
        seeds=[b"".join(map(event, reply)) if service.stream else as_json(reply)],
    )


REPLIES: Mapping[str, ReplyTarget] = {
    **{
        name: _of(name)
        for name in (
            *("openai", "openai stream", "responses", "responses stream", "anthropic", "anthropic stream"),
            *("http", "http stream", "rasa"),
        )
    },
    "http lines": ReplyTarget(
        adapter="http",
        settings=lambda address: {
            "url": address, "stream": "json-lines", "piece": "answer", "until": "[END]", "join": "last",
            "passages": "passages", "session_id": "session",
        },
        seeds=[as_json(_HTTP) + b"\n" + as_json(_HTTP) + b"\n[END]\n"],
    ),
    "botframework": ReplyTarget(
        adapter="botframework",
        settings=lambda address: {
            "base_url": address, "poll_s": 0.002, "quiet_s": 0.02, "buttons": True,
            "passages": "[].channelData.sources[]",
        },
        seeds=[as_json(_ACTIVITIES)],
        may_wait=True,
    ),
    "websocket": ReplyTarget(
        adapter="websocket",
        settings=lambda address: {
            "url": address.replace("http", "ws"), "send": {"q": "{{question}}"}, "answer": "answer",
            "until": "done", "error": "error", "passages": "passages",
        },
        seeds=[as_json(_HTTP) + b"\n" + as_json({"done": True})],
    ),
    "command": ReplyTarget(
        adapter="command",
        settings=lambda address: {"command": ["python", "printing.py"], "grace_s": 0.5},
        seeds=[as_json({"answer": ODD, "passages": ["p"], "conversation": "x"})],
        may_wait=True,
    ),
}  # fmt: skip

# For every line that it is sent it prints the file as it is then, on one line.
_PRINTING = """\
import sys

for line in sys.stdin.buffer:
    with open("reply", "rb") as file:
        sys.stdout.buffer.write(file.read().replace(b"\\n", b" ") + b"\\n")
    sys.stdout.buffer.flush()
"""


@dataclass(slots=True)
class _Served:
    body: bytes = b""


@asynccontextmanager
async def trying(
    target: ReplyTarget, folder: Path
) -> AsyncIterator[Callable[..., Awaitable[ChatReply | None]]]:
    """
    A function that has *target*'s adapter ask a system that replies with the bytes it is given.

    It gives what the adapter made of them; None for an ``AdapterError``. A *patient* one waits for a good
    reply as long as it takes.
    """
    served = _Served()
    (folder / "printing.py").write_text(_PRINTING)

    async def handler(request: web.Request) -> web.StreamResponse:
        return await _serve(request, served)

    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(answering(handler))
        factory = load("adapters", target.adapter, folder)
        adapter: Adapter = build(factory, target.settings(address), folder=folder)
        await stack.enter_async_context(adapter)  # type: ignore[arg-type]

        async def tried(content: bytes, *, patient: bool = False) -> ChatReply | None:
            served.body = content
            (folder / "reply").write_bytes(content)
            async with adapter.session(Conversation(id="c", turns=())) as session:
                try:
                    async with asyncio.timeout(PATIENCE_S if target.may_wait and not patient else TIMEOUT_S):
                        reply = await session.ask(ChatRequest(question="Who?", history=(), depth=1))
                except AdapterError as error:
                    check_error(error)
                except TimeoutError:
                    assert target.may_wait, "the ask doesn't end"
                else:
                    check_reply(reply)
                    return reply
            return None

        yield tried


async def _serve(request: web.Request, served: _Served) -> web.StreamResponse:
    if request.headers.get("Upgrade", "").lower() == "websocket":
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        for line in served.body.split(b"\n"):
            try:
                await socket.send_str(line.decode())
            except UnicodeDecodeError:
                await socket.send_bytes(line)
        await socket.close()
        return socket
    if "/directline/" in request.path and request.method == "POST":
        name = "id" if request.path.endswith("/activities") else "conversationId"
        return web.json_response({name: "x|1"})
    await request.read()
    return web.Response(body=served.body, content_type="application/json")


def check_error(error: AdapterError) -> None:
    """That the error is one for people to read, and that its record can be kept."""
    assert str(error).strip()
    assert len(str(error)) < 2_000, "the error is longer than anybody reads"
    _check_record(outcome=error.outcome, error=str(error))


def check_reply(reply: ChatReply) -> None:
    """That the reply is what its types say, and comes back from the database as it is."""
    assert isinstance(reply.text, str)
    assert reply.text.strip()
    _check_record(
        outcome="answered",
        answer=reply.text,
        passages=reply.passages,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
    )


def _check_record(**came: Any) -> None:
    """That a record with what *came* comes back from the database as it is."""
    nothing: dict[str, Any] = {"answer": None, "error": None, "passages": (), "usage": None}
    record = TurnRecord(
        system="s", policy="p", conversation="c", depth=1, turn="t", recorded="q", asked="q", edit="kept",
        edit_note=None, drift=None, gold_answers=(), gold_passages=(), attempts=1, timing=None,
        **{"cost_usd": None} | nothing | came,
    )  # fmt: skip
    connection = connect(Path(":memory:"))
    try:
        connection.executescript(tables.TABLES)
        schema.insert_records(connection, [schema.record_row(record)])
        (row,) = connection.execute(schema.SELECT_RECORDS).fetchall()
    finally:
        connection.close()
    assert schema.row_record(row) == record, "the database changes it"
