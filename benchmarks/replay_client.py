"""
Our engine as a client of the benchmarks: a real scenario, a real run database, in one process.

    python benchmarks/replay_client.py http://127.0.0.1:PORT/v1 [--requests 20000] [--connections 64]
                                       [--turns 5] [--policy pred] [--detect] [--stream] [--load JSON]
                                       [--resolver embedded] [--data FILE] [--workers 2] [--telemetry JSON]

Conversations, no two alike (``varied_texts.py``, or those in ``--data``), are written as a data set of the
native format into a temporary folder, and ``replay.run_async`` plays them as any program would, on uvloop
where that is installed, unscored. A short run before pays for imports. With ``--detect``, each recorded
history has to be one that no one asked for before: the service tells how many documents it had to resolve,
and remembered ones are an error, but with ``--known``. Seconds and latencies come from the run's own
database (first ask sent to last reply); CPU seconds are those of the whole call, other processes told apart.
``planning_ms`` is what comes between an answer and the next question. ``asking_cpu_us`` is what this process
took for a turn until the last one was kept; ``verdicts`` came after that, in ``verdicts_s`` seconds.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from bare_client import quantiles_ms, run_on_fastest_loop
from varied_texts import SEED, made_up_conversations, recorded_conversations

import replay
from replay.coreference.service.service import CoreferenceService


def write_conversations(path: Path, conversations: Iterable[Mapping[str, Any]]) -> None:
    """A data set of the native format."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in conversations)


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
        "play": {"concurrency": concurrency, "attempts": 1, "workers": options.workers},
    }
    if options.resolver:
        content["drift"] = {"resolver": options.resolver}
    if options.telemetry:
        content["telemetry"] = json.loads(options.telemetry)
    if options.load:
        content["load"] = json.loads(options.load)
    return content


async def play(
    options: argparse.Namespace, data: Path, concurrency: int, watch: Watch | None = None
) -> replay.Run:
    """Play a run of *data*, beside which it is kept."""
    runs = data.parent / "runs"
    return await replay.run_async(scenario(options, data, concurrency), runs=runs, observer=watch)


def measured(run: replay.Run) -> dict[str, Any]:
    """What the run's records say of it."""
    records = run.records()
    failed = [record for record in records if record.failed]
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
        "planning_ms": quantiles_ms(list(planning_s(records))),
        "exchanges": sum(record.exchanges for record in records),
        "invalid": sum(record.drift is not None and record.drift.invalid for record in records),
        "touched": sum(bool(record.interventions) for record in records),
    }


def planning_s(records: Iterable[replay.TurnRecord]) -> Iterator[float]:
    """What came between an answer and the time that the next question of its conversation was due."""
    for before, record in pairwise(records):  # by conversation and depth
        if record.depth == before.depth + 1 and record.timing and before.timing:
            yield record.timing.scheduled_s - before.timing.done_s


ALIKE = 0.01
"""The share of documents at most that may be remembered: by chance, an answer of a data set comes to the
conversation that it belongs to."""
_services: list[CoreferenceService] = []
"""Those of the runs so far."""


def watch_services() -> None:
    """Keep each run's service in ``_services``; nothing that a run gives back knows of it."""
    enter = CoreferenceService.__aenter__

    async def watched(self: CoreferenceService) -> CoreferenceService:
        _services.append(self)
        return await enter(self)

    CoreferenceService.__aenter__ = watched  # type: ignore[method-assign]


def check_all_were_new(run: replay.Run) -> None:
    """
    Raises:
        SystemExit: not all recorded histories were resolved, so that a cache was measured.
    """
    checked = sum(record.drift is not None for record in run.records())
    if (resolved := _services[-1].resolved) < (1 - ALIKE) * checked:
        sys.exit(f"of {checked:,} recorded histories {checked - resolved:,} were remembered: some were alike")


class Watch:
    """An observer that notes when the last turn was kept, and what came after it."""

    def __init__(self) -> None:
        self.asked_s = time.perf_counter()
        self.asked_cpu_s = time.process_time()
        self.verdicts = 0

    def recorded(self, record: replay.TurnRecord) -> None:
        self.asked_s, self.asked_cpu_s = time.perf_counter(), time.process_time()

    def counted(self, count: Any) -> None:
        self.recorded(count)

    def played(self, play: Any) -> None: ...

    def level_began(self, level: Any) -> None: ...

    def level_over(self, level: Any, result: Any) -> None: ...

    def drift_detected(self, drifts: Sequence[Any], left: int | None) -> None:
        if left is not None:
            self.verdicts += len(drifts)


def conversations(options: argparse.Namespace) -> tuple[Iterable[Any], Iterable[Any]]:
    """
    For the short run before, and for the one that is measured.

    Under load some are drawn beyond those that are played.
    """
    count = -(-options.requests // options.turns) + (options.connections if options.load else 0)
    few = made_up_conversations(options.connections, options.turns, SEED + 2)
    if not options.data:
        return few, made_up_conversations(count, options.turns)
    return few, islice(recorded_conversations(Path(options.data), options.turns), count)


def children_cpu_s() -> float:
    """CPU seconds of this process's ended and living children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


async def benchmark(options: argparse.Namespace) -> dict[str, Any]:
    """One measured run after a short one."""
    with tempfile.TemporaryDirectory(prefix="replay-benchmark-") as name:
        os.environ["CONVREPLAY_CACHE"] = f"{name}/cache"
        few, all_of_them = Path(name, "few.jsonl"), Path(name, "all.jsonl")
        for path, content in zip((few, all_of_them), conversations(options), strict=True):
            write_conversations(path, content)
        short = len((await play(options, few, options.connections)).records())
        if options.known:
            await play(options, all_of_them, options.connections)
        short_workers_s = children_cpu_s()
        begun, cpu, cpu_children = time.perf_counter(), time.process_time(), children_cpu_s()
        watch = Watch()
        run = await play(options, all_of_them, options.connections, watch)
        ended = time.perf_counter()
        spent = {"cpu_s": time.process_time() - cpu, "workers_cpu_s": children_cpu_s() - cpu_children}
        peak_rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if options.workers == 1 and not options.known:
            await asyncio.to_thread(check_all_were_new, run)
        found = await asyncio.to_thread(measured, run)
        detect = f" detect={str(options.detect).lower()}" if options.policy == "pred" else ""
        return {
            "client": f"convreplay {options.policy}{detect}",
            **found,
            "whole_s": ended - begun,
            "asking_cpu_us": 1e6 * (watch.asked_cpu_s - cpu) / found["requests"],
            "verdicts": watch.verdicts,
            "verdicts_s": ended - watch.asked_s,
            **spent,
            # Other processes start anew for each run: what turns take of them is the difference of two runs.
            "started_cpu_us": 1e6 * spent["cpu_s"] / found["requests"]
            + 1e6 * (spent["workers_cpu_s"] - short_workers_s) / max(1, found["requests"] - short),
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
    parser.add_argument(
        "--known", action="store_true", help="play the same data before, so that the recorded side is known"
    )
    parser.add_argument("--resolver", help="another than the embedded one")
    parser.add_argument("--data", metavar="FILE", help="play its conversations, not made-up ones")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--workers", type=int, default=1, help="processes that play: play.workers")
    parser.add_argument("--load", metavar="JSON", help="the scenario's section `load`")
    parser.add_argument("--telemetry", metavar="JSON", help="the scenario's section `telemetry`")
    options = parser.parse_args()
    watch_services()
    # Worker processes run at another priority, but on the same cores as this one.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        print(json.dumps(run_on_fastest_loop(lambda: benchmark(options))))
    except replay.ReplayError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")


if __name__ == "__main__":
    main()
