"""Data, servers and scenarios that load runs are tested with."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import yaml

from replay.results.run import Run
from replay.runs.launch import run_async
from replay.scenario.reading import ScenarioFile, parse_scenario
from tests.adapters.servers import completion, http
from tests.waiting import PATIENCE_S

Body = Mapping[str, Any]
Answer = Callable[[Body, asyncio.StreamWriter], Awaitable[None]]
"""Answers the Chat Completions request with that body."""
NOWHERE = "http://192.0.2.1:9"
"""At TEST-NET-1 (RFC 5737), whose addresses belong to nobody."""


def talk(name: str, turns: int, **more: Any) -> dict[str, Any]:
    """A conversation as in a file of data; each question and gold answer can be told from all others."""
    asked = [{"question": f"{name} {n}?", "gold_answers": [f"{name} said {n}."]} for n in range(1, turns + 1)]
    return {"id": name, "turns": asked, **more}


def data(folder: Path, *talks: Mapping[str, Any]) -> Path:
    """A file with *talks*, or three of two turns."""
    found = talks or tuple(talk(name, 2) for name in "abc")
    path = folder / "talks.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in found), encoding="utf-8")
    return path


def scenario(
    folder: Path,
    load: Mapping[str, Any] | None,
    *,
    address: str | None = None,
    talks: Sequence[Mapping[str, Any]] = (),
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> ScenarioFile:
    """
    A load run of *talks*: of the server at *address*, or else of a system that says the gold answers.
    """
    data(folder, *talks)
    if address is None:
        system = {"name": "s", "adapter": "scripted", "settings": {"answers": "gold", **(settings or {})}}
    else:
        reached = {"base_url": f"{address}/v1", "model": "m", **(settings or {})}
        system = {"name": "s", "adapter": "openai", "settings": reached}
    content = {
        "name": "load",
        "data": {"path": "talks.jsonl"},
        "systems": [system],
        "policies": [{"pred": {"detect": False}}],
        "drift": {"nlp_workers": 0},
        "scorers": ["em"],
        "play": {"timeout_s": 60},
        **({} if load is None else {"load": dict(load)}),
        **more,
    }
    text = yaml.safe_dump(content, sort_keys=False)
    (folder / "load.yaml").write_text(text, encoding="utf-8")
    return parse_scenario(text, source=str(folder / "load.yaml"), folder=folder)


async def play(folder: Path, load: Mapping[str, Any], **more: Any) -> Run:
    """The run of ``scenario(folder, load, **more)``."""
    async with asyncio.timeout(PATIENCE_S):
        return await run_async(scenario(folder, load, **more), runs=folder / "runs")


def level_events(run: Run) -> list[dict[str, Any]]:
    """What the run's database has of its levels."""
    with closing(sqlite3.connect(run.folder / "run.db")) as database:
        rows = database.execute("SELECT data FROM event WHERE kind = 'level' ORDER BY id")
        return [json.loads(text) for (text,) in rows]


def latencies(run: Run) -> list[float]:
    return [record.timing.latency_s for record in run.records() if record.timing]


def responses(run: Run) -> list[float]:
    return [record.timing.response_s for record in run.records() if record.timing]


async def reply(body: Body, writer: asyncio.StreamWriter, text: str = "There.") -> None:
    """Answer with *text*, in one piece."""
    writer.write(http(json.dumps(completion(text)).encode(), headers="Content-Type: application/json\r\n"))
    await writer.drain()


class Server:
    """A server on a real socket; what is asked is kept, and *answer* sends the replies."""

    def __init__(self, answer: Answer = reply) -> None:
        self.answer = answer
        self.asked: list[Body] = []
        self.answered = 0
        """Replies that were sent to their end."""
        self.inside = 0
        self.most = 0
        self._awaited = 0
        self._reached = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Its address."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def until_asked(self, times: int) -> None:
        """Return once it was asked so many *times*."""
        self._awaited = times
        if len(self.asked) < times:
            self._reached.clear()
            async with asyncio.timeout(PATIENCE_S):
                await self._reached.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while True:
                await self._reply(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:  # by running(); asyncio's streams would complain of it
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split()[0])
        body = json.loads(await reader.readexactly(length))
        self.asked.append(body)
        self.inside += 1
        self.most = max(self.most, self.inside)
        if len(self.asked) >= self._awaited:
            self._reached.set()
        try:
            await self.answer(body, writer)
            self.answered += 1
        finally:
            self.inside -= 1


async def play_at(server: Server, folder: Path, load: Mapping[str, Any], **more: Any) -> Run:
    """The run of ``play(folder, load, **more)`` against *server*, which is there meanwhile."""
    async with server.running() as address:
        return await play(folder, load, address=address, **more)
