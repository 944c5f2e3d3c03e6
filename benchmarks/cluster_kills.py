"""
What is left of a run whose nodes are removed without grace while others are added, and how a limit and a stop
reach all of them, counted at the server.

    python benchmarks/cluster_kills.py --times 10
    python benchmarks/cluster_kills.py --times 10 --keeps-history --lost-sessions abandon

A Ray cluster on this machine: a head that plays nothing and three nodes of one CPU each. Again and again in
one run, at moments drawn evenly from the asks that are left, one node is removed (its raylet is killed) and
another is added. A server in this process answers from the question and the whole history before it, and
counts every ask; each answer is held against that of an undisturbed conversation.

Then the three nodes play under a limit, and at last with a server that fails every ask, until
``play.stop_after`` stops them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml
from aiohttp import web
from kills import answer_to, question
from ray.cluster_utils import Cluster

from replay.core.errors import RunStoppedError
from replay.results.run import Run
from replay.runs.launch import run_async
from replay.scenario.reading import parse_scenario
from replay.store.reader import DATABASE

SMALL = {"object_store_memory": 80_000_000}
PLAYER = {"player": 1}
NODES = 3


class Server:
    """Counts asks by question, and when they came."""

    def __init__(self, delay_s: float) -> None:
        self.asked: Counter[str] = Counter()
        self.came_s: list[float] = []
        self.fails = False
        self._sessions: dict[str, list[str]] = {}
        self._delay_s = delay_s

    async def chat(self, request: web.Request) -> web.Response:
        messages = [message["content"] for message in (await request.json())["messages"]]
        await self._count(messages[-1])
        message = {"role": "assistant", "content": answer_to(messages)}
        return web.json_response({"choices": [{"message": message}]})

    async def said(self, request: web.Request) -> web.Response:
        body = await request.json()
        await self._count(body["question"])
        said = self._sessions.setdefault(body["session"], [])
        said += [body["question"], answer_to([*said, body["question"]])]
        return web.json_response({"answer": said[-1]})

    async def _count(self, asked: str) -> None:
        self.asked[asked] += 1
        self.came_s.append(perf_counter())
        if self.fails:
            raise web.HTTPInternalServerError
        await asyncio.sleep(self._delay_s)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Its address."""
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/said", self.said)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


def undisturbed(talk: int, turns: int) -> list[str]:
    said: list[str] = []
    for depth in range(1, turns + 1):
        said += [question(talk, depth), answer_to([*said, question(talk, depth)])]
    return said[1::2]


class Bench:
    """Runs on one cluster, each with a server of its own, one at a time."""

    def __init__(self, cluster: Cluster, folder: Path, options: argparse.Namespace) -> None:
        self.cluster = cluster
        self.options = options
        self._folder = folder
        self._numbers = count()
        # Nodes can be added by the main thread alone, which takes seconds.
        self._thread = ThreadPoolExecutor(1)

    def begin(self, server: Server, conversations: int, turns: int, **more: Any) -> Future[Run]:
        """A run that goes on in a thread; *more* is of its scenario, ``system`` of its only system."""
        folder = self._folder / f"{next(self._numbers)}"
        folder.mkdir()
        with (folder / "talks.jsonl").open("w") as talks:
            for n in range(conversations):
                asked = [{"question": question(n, depth)} for depth in range(1, turns + 1)]
                talks.write(f"{json.dumps({'id': f'talk{n}', 'turns': asked})}\n")
        return self._thread.submit(asyncio.run, self._run(server, folder, more))

    async def _run(self, server: Server, folder: Path, more: dict[str, Any]) -> Run:
        async with server.running() as url:
            system: dict[str, Any] = {
                "adapter": "openai",
                "settings": {"base_url": f"{url}/v1", "model": "m"},
            }
            if self.options.keeps_history:
                body = {"question": "{{question}}", "session": "{{session_id}}"}
                settings = {"url": f"{url}/said", "body": body, "answer": "answer", "history": "server"}
                system = {"adapter": "http", "settings": settings}
            content = {
                "name": "removed",
                "data": {"path": "talks.jsonl"},
                "systems": [{"name": "server", **system, **more.pop("system", {})}],
                "policies": [{"pred": {"detect": False}}],
                "drift": {"nlp_workers": 0},
                "scorers": ["em"],
                "cluster": {
                    "address": self.cluster.address,
                    "resources": PLAYER,
                    "lost_sessions": self.options.lost_sessions,
                },
                **more,
            }
            file = parse_scenario(yaml.safe_dump(content), source="removed.yaml", folder=folder)
            return await run_async(file, runs=folder / "runs")


def another(cluster: Cluster) -> Any:
    """A node that is added, however long a busy machine takes: Ray itself gives up after half a minute."""
    while True:
        try:
            return cluster.add_node(num_cpus=1, resources=PLAYER, **SMALL)
        except Exception as error:  # noqa: BLE001 - Ray has no kind of its own for it
            print(error, flush=True)


def removals(bench: Bench) -> None:
    """Remove and add nodes while one run goes on."""
    options, rng, server = bench.options, random.Random(bench.options.seed), Server(bench.options.delay_s)
    turns = options.conversations * options.turns
    moments = sorted(rng.sample(range(turns // 50, turns * 9 // 10), options.times))
    nodes = list(bench.cluster.worker_nodes)
    began = perf_counter()
    running = bench.begin(
        server, options.conversations, options.turns, play={"concurrency": options.concurrency}
    )
    print(f"{'after asks':>12}{'after s':>9}  removed")
    for moment in moments:
        while len(server.came_s) < moment and not running.done():
            time.sleep(0.002)
        node = nodes.pop(rng.randrange(len(nodes)))
        print(f"{len(server.came_s):12,}{perf_counter() - began:9.1f}  {node.node_id[:8]}", flush=True)
        bench.cluster.remove_node(node, allow_graceful=False)
        nodes.append(another(bench.cluster))
    run = running.result()
    records = Counter((record.conversation, record.depth) for record in run.records())
    wanted = {f"talk{n}": undisturbed(n, options.turns) for n in range(options.conversations)}
    with closing(sqlite3.connect(run.folder / DATABASE)) as database:
        rows = database.execute("SELECT data FROM event WHERE kind = 'process-lost'")
        lost = [json.loads(data) for (data,) in rows]
    figures = {
        "turns": turns,
        "seconds": f"{perf_counter() - began:.1f}",
        "turns without a record": turns - len(records),
        "turns with two": sum(times - 1 for times in records.values()),
        "set aside": sum(record.outcome == "lost" for record in run.records()),
        "answers unlike undisturbed": sum(
            record.answer != wanted[record.conversation][record.depth - 1]
            for record in run.records()
            if record.outcome != "lost"
        ),
        "questions never asked": turns - len(server.asked),
        "asked again": server.asked.total() - len(server.asked),
        "under way on lost nodes": sum(event["begun"] for event in lost),
        "nodes that were lost": len(lost),
    }
    for name, figure in figures.items():
        print(f"{name:28}{figure:>10}")


def limits(bench: Bench) -> None:
    """How much of a limit three nodes use, and whether they ever send more."""
    sent, came = "most sent in any stretch as long", "most that came"
    print(f"\n{'limit':>12}{sent:>34}{came:>16}{'of the limit used':>20}")
    for asks, per_s in ((20, 1.0), (200, 1.0), (50, 0.25)):
        server = Server(0.01)
        limit = {"limit": {"asks": asks, "per_s": per_s}}
        run = bench.begin(server, 12 * asks // 4, 4, system=limit, play={"concurrency": 48}).result()
        came_s = server.came_s
        sent_s = sorted(record.timing.sent_s for record in run.records() if record.timing)
        used = (len(came_s) - asks) / (came_s[-1] - came_s[0]) / (asks / per_s)
        most = f"{most_within(sent_s, per_s):34}{most_within(came_s, per_s):16}"
        print(f"{asks:5} in {per_s:g} s{most}{used:20.1%}", flush=True)


def most_within(came_s: list[float], per_s: float) -> int:
    """How many of those moments are in one stretch of that length at most."""
    first, most = 0, 0
    for last, at_s in enumerate(came_s):
        while at_s - came_s[first] >= per_s:
            first += 1
        most = max(most, last - first + 1)
    return most


def stopping(bench: Bench) -> None:
    """How long questions still come after the failure that stops the run."""
    server, stop_after = Server(0.0), 20
    server.fails = True
    play = {"concurrency": 24, "attempts": 1, "stop_after": stop_after}
    try:
        bench.begin(server, 400, 1, play=play).result()
    except RunStoppedError:
        late_s = server.came_s[-1] - server.came_s[stop_after - 1]
        print(f"\nafter the {stop_after}th failure questions came for {1000 * late_s:.0f} ms", end=", ")
        print(f"{len(server.came_s) - stop_after} of them")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=10, help="how often a node is removed")
    parser.add_argument("--conversations", type=int, default=400)
    parser.add_argument("--turns", type=int, default=6, help="of each conversation")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--delay-s", type=float, default=0.25, help="until the server answers")
    parser.add_argument("--keeps-history", action="store_true", help="the server keeps the history")
    parser.add_argument("--lost-sessions", default="restart", choices=["restart", "abandon"])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    head = {"num_cpus": 0, "include_dashboard": False, **SMALL}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(NODES):
        another(cluster)
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(cluster, Path(folder), options)
            removals(bench)
            limits(bench)
            stopping(bench)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
