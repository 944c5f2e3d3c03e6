"""
What each layer of a turn costs: bare aiohttp, our HTTP client, the chat adapter, the player, the run's
database, and a whole run with reading its data.

    python benchmarks/layers.py [--requests 4000] [--rounds 5]
    python benchmarks/layers.py --instructions --requests 1500

Every layer is a process of its own that puts the same questions to ``fast_server.py``, with the answers as
history, and does all that the layers before it do. CPU time is that of asking, without what starting Python
takes, and ratios are taken within a round.

With ``--instructions`` each runs under ``valgrind --tool=cachegrind`` (which has to be installed), with so
many requests and with three times as many; the difference is what requests cost. Such counts are the same
within a percent on a busy machine and on a quiet one, but the kernel's work isn't in them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import aiohttp
import msgspec
from bare_client import QUESTIONS, Client, Reply, run_on_fastest_loop
from side_by_side import (
    Client as Process,
    Load,
    Spread,
    add_options,
    cores,
    cpu_us,
    ratios,
    rounds,
    run_client,
    server,
    table,
)

import replay
from replay.core.conversation import Conversation, Turn
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.coreference.drift import DriftDetector
from replay.datasets.native import write_native
from replay.play.engine import play_all
from replay.play.play import Play, System
from replay.play.player import PlayOptions, RecordSink
from replay.policies.recorded import PredPolicy
from replay.store.store import RunStore
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.client import HttpClient

LAYERS = ("aiohttp", "HTTP client", "chat adapter", "player", "database", "run")
_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([\d,]+)")
_decoder = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder()


class OurHttp(Client):
    """The bare loop over our HTTP client."""

    def __init__(self, options: argparse.Namespace, http: HttpClient) -> None:
        super().__init__(None, options)  # type: ignore[arg-type]
        self._http = http

    async def _ask(self, messages: list[dict[str, str]]) -> str:
        body = _encoder.encode({"model": "fast", "messages": messages})
        reply = await self._http.request("POST", self._url, body=body)
        return _decoder.decode(reply.raw).choices[0].message.content


async def http_client(options: argparse.Namespace) -> None:
    async with (http := HttpClient()), asyncio.TaskGroup() as tasks:
        client = OurHttp(options, http)
        for _ in range(options.connections):
            tasks.create_task(client.play())


async def chat_adapter(options: argparse.Namespace) -> None:
    todo = conversations(options)

    async def keep_asking() -> None:
        for conversation in todo:
            history: tuple[Exchange, ...] = ()
            async with adapter.session(conversation) as session:
                for depth, turn in enumerate(conversation.turns, 1):
                    asked = replay.ChatRequest(question=turn.question, history=history, depth=depth)
                    reply = await session.ask(asked)
                    history += (Exchange(question=turn.question, answer=reply.text),)

    async with (adapter := OpenAIAdapter(base_url=options.url, model="fast")), asyncio.TaskGroup() as tasks:
        for _ in range(options.connections):
            tasks.create_task(keep_asking())


class Nowhere:
    """Keeps no record."""

    async def write(self, record: TurnRecord) -> None:
        pass


async def player(options: argparse.Namespace, sink: RecordSink | None = None) -> None:
    system = System(name="fast", adapter=OpenAIAdapter(base_url=options.url, model="fast"))
    policy = PredPolicy(detector=DriftDetector.__new__(DriftDetector), detect=False)
    plays = (
        Play(system=system, policy_name="pred", policy=policy, conversation=one)
        for one in conversations(options)
    )
    await play_all(
        plays,
        PlayOptions(),
        systems=(system,),
        sink=sink or Nowhere(),
        concurrency=options.connections,
    )


async def database(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder, "run"), {})
        await player(options, store)
        store.close()


async def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.jsonl")
        write_native(conversations(options), data)
        options.cpu_begun = process_time()  # who writes the data is somebody else
        scenario: dict[str, Any] = {
            "name": "layers",
            "data": {"path": str(data), "format": "native"},
            "systems": [
                {"name": "fast", "adapter": "openai", "settings": {"base_url": options.url, "model": "fast"}}
            ],
            "policies": [{"pred": {"detect": False}}],
            "scorers": [],
            "play": {"concurrency": options.connections},
        }
        await replay.run_async(scenario, runs=Path(folder, "runs"))


def conversations(options: argparse.Namespace) -> Iterator[Conversation]:
    for number in range(-(-options.requests // len(QUESTIONS))):
        turns = (Turn(id=f"{number}#{depth}", question=one) for depth, one in enumerate(QUESTIONS, 1))
        yield Conversation(id=str(number), turns=tuple(turns))


async def bare(options: argparse.Namespace) -> None:
    headers = {"Content-Type": "application/json"}
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    )
    async with session, asyncio.TaskGroup() as tasks:
        client = Client(session, options)
        for _ in range(options.connections):
            tasks.create_task(client.play())


ASK = dict(zip(LAYERS, (bare, http_client, chat_adapter, player, database, run), strict=True))


def command(layer: str, url: str, load: Load) -> list[str]:
    asking = [sys.executable, __file__, "--layer", layer, "--url", url, "--requests", str(load.requests)]
    return [*asking, "--connections", str(load.connections)]


def cpu_times(options: argparse.Namespace) -> list[list[str]]:
    """Of each layer: microseconds of CPU a turn, and how many times the bare loop's."""
    load = Load(requests=options.requests, connections=options.connections)
    processes = [Process(name=layer, command=partial(command, layer)) for layer in LAYERS]
    on = cores()
    with server("--answers", str(load.requests), on=on.server) as fast:
        measured = rounds(
            processes,
            options.rounds,
            lambda process: run_client(process, fast.url, load, on.client, options.at_most_s),
            lambda line: print(line, file=sys.stderr, flush=True),
        )
    compared = ratios(measured, cpu_us, LAYERS[0])
    return [
        [layer, Spread.of([cpu_us(one) for one in found]).shown(), compared[layer].shown(".2f")]
        for layer, found in measured.items()
    ]


def instructions(options: argparse.Namespace) -> list[list[str]]:
    """The same in thousands of instructions."""
    counts = []
    few, many = (Load(requests=n * options.requests, connections=options.connections) for n in (1, 3))
    with server("--answers", str(many.requests), on=cores().server) as fast:
        for layer in LAYERS:
            of_few, of_many = (counted(command(layer, fast.url, load)) for load in (few, many))
            counts.append((of_many - of_few) / (many.requests - few.requests))
    return [
        [layer, f"{count / 1000:,.0f}", f"{count / counts[0]:.2f}"]
        for layer, count in zip(LAYERS, counts, strict=True)
    ]


def counted(asking: list[str]) -> int:
    """
    The instructions of one process from its start to its end.

    Raises:
        SystemExit: it failed.
    """
    counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run([*counting, *asking], capture_output=True, text=True, check=False)
    found = _INSTRUCTIONS.search(done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit(f"{' '.join(asking)} failed: {done.stderr[-2000:]}")
    return int(found[1].replace(",", ""))


async def timed(options: argparse.Namespace) -> dict[str, Any]:
    """What one process took for asking."""
    begun, options.cpu_begun = perf_counter(), process_time()
    await ASK[options.layer](options)
    return {
        "requests": options.requests,
        "seconds": perf_counter() - begun,
        "cpu_s": process_time() - options.cpu_begun,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, requests=4000)
    parser.add_argument("--instructions", action="store_true", help="count them, in the place of CPU time")
    parser.add_argument("--layer", choices=LAYERS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.layer:
        options.stream = False
        print(json.dumps(run_on_fastest_loop(lambda: timed(options))))
        return
    rows = instructions(options) if options.instructions else cpu_times(options)
    unit = "thousand instructions a turn" if options.instructions else "CPU us a turn"
    print("\n".join(table(("up to and with", unit, f"over {LAYERS[0]}"), rows)))


if __name__ == "__main__":
    main()
