"""
Our engine as a client of the benchmarks: a real scenario, a real run database, in one process.

    python benchmarks/replay_client.py http://127.0.0.1:PORT/v1 [--requests 20000] [--connections 64]
                                       [--turns 5] [--policy pred] [--detect] [--stream] [--load JSON]

Conversations are written as a data set of the native format into a temporary folder, and
``replay.run_async`` plays them as anyone's program would, on uvloop where that is installed, unscored.
A short run before pays for imports. Seconds and latencies come from the run's own database (first ask
sent to last reply); CPU seconds are those of the whole call, coreference workers told apart.

Prints one JSON object like that of ``bare_client.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bare_client import QUESTIONS, quantiles_ms, run_on_fastest_loop

import replay

GOLD = ("Ada Lind designed it.", "In 1871.", "The river floods every spring.", "They were proud.", "Yes.")


def write_conversations(path: Path, count: int, turns: int) -> None:
    """*count* conversations of the native format; the questions lean on what was said before."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            asked = [
                {"question": QUESTIONS[depth % len(QUESTIONS)], "gold_answer": GOLD[depth % len(GOLD)]}
                for depth in range(turns)
            ]
            file.write(json.dumps({"id": f"c{number}", "title": "The Harbour Bridge", "turns": asked}) + "\n")


def scenario(options: argparse.Namespace, data: Path, concurrency: int) -> dict[str, Any]:
    """What a user would write into a scenario file."""
    settings: dict[str, Any] = {"base_url": options.url, "model": "fast"}
    if options.stream:
        settings["stream"] = True
    policy: Any = options.policy
    if options.policy == "pred":
        policy = {"pred": {"detect": options.detect}}
    content: dict[str, Any] = {
        "name": "benchmark",
        "data": {"path": str(data), "format": "native"},
        "systems": [{"name": "fast", "adapter": "openai", "settings": settings}],
        "policies": [policy],
        "scorers": [],
        "play": {"concurrency": concurrency, "attempts": 1},
    }
    if options.load:
        content["load"] = json.loads(options.load)
    return content


async def play(options: argparse.Namespace, data: Path, concurrency: int) -> replay.Run:
    """Play a run of *data*, beside which it is kept."""
    return await replay.run_async(scenario(options, data, concurrency), runs=data.parent / "runs")


def measured(run: replay.Run) -> dict[str, Any]:
    """What the run's records say of it."""
    records = run.records()
    failed = [record for record in records if record.outcome != "answered"]
    if failed or not records:
        first = f", the first: {failed[0].error}" if failed else ""
        sys.exit(f"{len(failed)} of {len(records)} asks were not answered{first}")
    asks = [(record.timing, record.usage) for record in records if record.timing]
    service_s = [((usage.prompt_tokens if usage else None) or 0) / 1e6 for _, usage in asks]
    first_tokens = [timing.ttft_s for timing, _ in asks if timing.ttft_s is not None]
    return {
        "requests": len(records),
        "seconds": max(timing.done_s for timing, _ in asks) - min(timing.sent_s for timing, _ in asks),
        "latency_ms": quantiles_ms([timing.latency_s for timing, _ in asks]),
        "added_ms": quantiles_ms(
            [timing.latency_s - own_s for (timing, _), own_s in zip(asks, service_s, strict=True)]
        ),
        "lateness_ms": quantiles_ms([timing.lateness_s for timing, _ in asks]),
        "ttft_ms": quantiles_ms(first_tokens),
    }


def children_cpu_s() -> float:
    """CPU seconds of this process's ended and living children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


async def benchmark(options: argparse.Namespace) -> dict[str, Any]:
    """One measured run after a short one."""
    with tempfile.TemporaryDirectory(prefix="replay-benchmark-") as name:
        few, all_of_them = Path(name, "few.jsonl"), Path(name, "all.jsonl")
        write_conversations(few, options.connections, options.turns)
        write_conversations(all_of_them, -(-options.requests // options.turns), options.turns)
        await play(options, few, options.connections)
        begun, cpu, cpu_children = time.perf_counter(), time.process_time(), children_cpu_s()
        run = await play(options, all_of_them, options.connections)
        whole_s = time.perf_counter() - begun
        spent = {"cpu_s": time.process_time() - cpu, "workers_cpu_s": children_cpu_s() - cpu_children}
        peak_rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        detect = f" detect={str(options.detect).lower()}" if options.policy == "pred" else ""
        return {
            "client": f"convreplay {options.policy}{detect}",
            **await asyncio.to_thread(measured, run),
            "whole_s": whole_s,
            **spent,
            "peak_rss_mib": peak_rss_mib,
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--policy", default="pred")
    parser.add_argument("--detect", action="store_true", help="measure drift under pred")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--load", metavar="JSON", help="the scenario's section `load`")
    options = parser.parse_args()
    # Worker processes run at another priority, but on the same cores as this one.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        print(json.dumps(run_on_fastest_loop(lambda: benchmark(options))))
    except replay.ReplayError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")


if __name__ == "__main__":
    main()
