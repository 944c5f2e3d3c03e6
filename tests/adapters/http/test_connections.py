"""Servers that close connections when they like, or send more than they were asked for; over real sockets."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from typing import Literal, get_args

import aiohttp
import pytest

from replay import AdapterConnectionError, AdapterError, ChatRequest, Conversation
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.client import HttpClient
from replay_adapters.http.connections import Incoming
from replay_adapters.http.rasa import RasaAdapter
from tests.adapters.asking import EMPTY
from tests.adapters.servers import http, listening
from tests.waiting import PATIENCE_S, others_first

Ending = Literal["keep", "said", "fin", "rst", "fin-under-next", "rst-under-next"]
CONVERSATIONS, TURNS = 10, 4
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Closing:
    """Counts what it was asked, and ends connections in its own way."""

    def __init__(self, ending: Ending, reply: bytes = b'{"answer": "Mira."}') -> None:
        self.ending = ending
        self.reply = reply
        self.connections = 0
        self.questions: list[bytes] = []
        """Read to their end."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        headers = "Connection: close\r\n" if self.ending == "said" else ""
        try:
            while True:
                self.questions.append(await asked(reader))
                writer.write(http(self.reply, headers=headers))
                await writer.drain()
                if self.ending.endswith("under-next"):
                    await reader.readexactly(1)  # the next question is on its way, and is never looked at
                if self.ending.startswith("rst"):
                    reset(writer)
                if self.ending != "keep":
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def asked(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    return await reader.readexactly(int(length[1]) if length else 0)


def reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def played(adapter: HttpAdapter | RasaAdapter) -> list[AdapterError]:
    """What failed of many conversations side by side; a conversation ends with its first failure."""
    failures: list[AdapterError] = []

    async def play(name: str) -> None:
        async with adapter.session(Conversation(id=name, turns=())) as session:
            for depth in range(1, TURNS + 1):
                try:
                    await session.ask(ChatRequest(question=f"{name}-{depth}", history=(), depth=depth))
                except AdapterError as error:
                    failures.append(error)
                    return
                await others_first()

    async with adapter, asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(play(f"c{n}") for n in range(CONVERSATIONS)))
    return failures


def each_once(server: Closing) -> bool:
    return len(set(server.questions)) == len(server.questions) == CONVERSATIONS * TURNS


@pytest.mark.parametrize(
    ("method", "ending"),
    [
        *(("POST", ending) for ending in get_args(Ending)),
        ("PUT", "fin-under-next"),
        ("PUT", "rst-under-next"),
    ],
)
@pytest.mark.parametrize("history", ["server", "client"])
async def test_a_server_may_close_its_connections_when_it_likes(history, ending, method) -> None:
    """No conversation ends by it, and no question is put twice."""
    server = Closing(ending)
    body = {"q": "{{question}}"}
    async with listening(server.serve) as address:
        adapter = HttpAdapter(url=address, method=method, answer="answer", body=body, history=history)
        assert await played(adapter) == []

    assert each_once(server)
    if history == "server":
        assert server.connections == CONVERSATIONS * TURNS
    elif ending == "keep":
        assert server.connections <= CONVERSATIONS


async def test_a_rasa_assistant_may_do_so_as_well() -> None:
    server = Closing("fin-under-next", reply=b'[{"text": "Mira."}]')
    async with listening(server.serve) as address:
        assert await played(RasaAdapter(base_url=address)) == []

    assert each_once(server)
    assert server.connections == CONVERSATIONS * TURNS


async def test_connections_are_reused_for_a_system_that_keeps_the_history_where_that_is_wanted() -> None:
    """Nothing is sent again then either: what was on its way may stand in the history."""
    for ending, failed in (("keep", 0), ("fin-under-next", CONVERSATIONS)):
        server = Closing(ending)
        async with listening(server.serve) as address:
            failures = await played(
                HttpAdapter(
                    url=address,
                    answer="answer",
                    body={"q": "{{question}}"},
                    history="server",
                    reuse_connections=True,
                )
            )
        assert len(failures) == failed
        assert all(error.reached for error in failures)
        assert len(set(server.questions)) == len(server.questions)
        assert server.connections <= CONVERSATIONS


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("history", ["server", "client"])
async def test_what_broke_a_new_connection_is_not_sent_again_unseen(method, history) -> None:
    """The HTTP library would do so with GET and PUT."""
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await asked(reader)
        requests += 1
        writer.close()

    async with listening(serve) as address:
        adapter = HttpAdapter(
            url=f"{address}/?q={{{{question}}}}", method=method, answer="a", history=history
        )
        async with adapter, adapter.session(EMPTY) as session:
            with pytest.raises(AdapterConnectionError) as caught:
                await session.ask(ChatRequest(question="Q", history=(), depth=1))

    assert caught.value.reached
    assert requests == 1


async def test_a_connection_that_cannot_be_had_is_not_taken_for_a_used_one_that_ended(monkeypatch) -> None:
    sent, request = [], aiohttp.ClientSession.request
    monkeypatch.setattr(
        aiohttp.ClientSession, "request", lambda *a, **more: [sent.append(a), request(*a, **more)][1]
    )
    server, client = Closing("keep", reply=b"1"), HttpClient()
    async with client:
        async with listening(server.serve) as address:
            await client.request("POST", address, {})
            server.ending = "fin"
            await client.request("POST", address, {})
        with pytest.raises(AdapterConnectionError) as caught:
            await client.request("POST", address, {})

    assert not caught.value.reached
    assert len(sent) == 3


class Talkative:
    """Sends *more* behind its first reply: with it, or when that has been read."""

    def __init__(self, more: bytes, *, late: bool) -> None:
        self.more = more
        self.late = late
        self.was_read = asyncio.Event()
        self.more_sent = asyncio.Event()
        self.connections = 0
        self.questions = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await asked(reader)
                self.questions += 1
                writer.write(http(b'"answer %d"' % self.questions) + (b"" if self.late else self.more))
                if self.questions == 1 and self.late:
                    await self.was_read.wait()
                    writer.write(self.more)
                    self.more_sent.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("unread", [True, False])
@pytest.mark.parametrize(
    "more", [http(b'"of another turn"'), http(b"", status="204 No Content"), http(b"{", length=9)]
)
async def test_a_late_second_reply_is_nobodys_answer(more, unread, caplog) -> None:
    """It lies there when the next question comes, read by then or not."""
    server, client = Talkative(more, late=True), HttpClient()
    async with listening(server.serve) as address, client, asyncio.timeout(PATIENCE_S):
        answers = [(await client.request("POST", address, {})).json()]
        server.was_read.set()
        await server.more_sent.wait()
        if not unread:
            await others_first()
        answers += [(await client.request("POST", address, {})).json() for _ in range(3)]

    assert answers == ["answer 1", "answer 2", "answer 3", "answer 4"]
    assert caplog.text.count("sent a reply that nobody had asked for") == 1
    assert server.connections == 4, "whoever does so once may do so when the next question is under way"


@pytest.mark.parametrize("once", [True, False])
async def test_a_second_reply_with_the_first_is_nobodys_answer(once, caplog) -> None:
    server, client = Talkative(http(b'"of another turn"'), late=False), HttpClient()
    async with listening(server.serve) as address, client, asyncio.timeout(PATIENCE_S):
        answers = [(await client.request("POST", address, {}, once=once)).json() for _ in range(3)]

    assert answers == ["answer 1", "answer 2", "answer 3"]
    assert caplog.text.count("sent a reply that nobody had asked for") == 1
    assert address in caplog.text
    assert server.connections == 3


async def test_half_a_second_reply_never_mixes_with_an_answer() -> None:
    """Its other half comes under the next question; that is no HTTP, or not noticed, but no wrong answer."""
    server, client = Talkative(http(b'"of another turn"')[:25], late=True), HttpClient()
    async with listening(server.serve) as address, client, asyncio.timeout(PATIENCE_S):
        await client.request("POST", address, {})
        server.was_read.set()
        await server.more_sent.wait()
        server.more = b""
        assert (await client.request("POST", address, {})).json() == "answer 2"


async def test_a_question_given_up_while_its_connection_is_looked_at_leaves_none_open(monkeypatch) -> None:
    looking = asyncio.Event()

    async def taken_in(_) -> None:
        looking.set()
        await asyncio.Event().wait()

    server, client = Closing("keep", reply=b"1"), HttpClient()
    async with listening(server.serve) as address, client, asyncio.timeout(PATIENCE_S):
        await client.request("POST", address, {})
        monkeypatch.setattr(Incoming, "taken_in", taken_in)
        asking = asyncio.create_task(client.request("POST", address, {}))
        await looking.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert not client._kept.with_body.connector._acquired


async def test_what_is_kept_is_not_dropped_without_a_reason() -> None:
    server, client = Closing("keep", reply=b"1"), HttpClient()
    async with listening(server.serve) as address, client:
        for _ in range(20):
            await client.request("POST", address, {})
            await others_first()

    assert server.connections == 1
