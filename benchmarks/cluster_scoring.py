"""
What scoring on a Ray cluster takes beside scoring here: CPU, the program's memory, and how far scores differ.

    OMP_NUM_THREADS=1 python benchmarks/cluster_scoring.py [--turns 5000] [--actors 2] [--flat 20000,200000]

The cluster is on this machine: a head without CPUs and a node of one CPU for each actor. The turns are made
up (as for benchmarks/scoring.py, of two policies), the scorer is ``similarity`` with all-MiniLM-L6-v2.

CPU seconds are of all processes of a kind, so that a busy machine changes them little: *observing* is what
the scorer takes once its model is loaded, *in all* what the program takes with its cluster, models loaded in
each actor and idle daemons included. Then, for each number of turns after ``--flat``, a scorer that does next
to nothing observes so many on the cluster: the peak is what the program holds at most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from scoring import synthetic_turns

from replay.core.conversation import Conversation, Turn
from replay.core.record import TurnRecord
from replay.core.safety.consent import code_may_run
from replay.core.settings.choice import Choice
from replay.results.scoring import score_into
from replay.scenario.sections import ClusterSection
from replay.scorers.scorer import Unscored
from replay.scorers.similarity import similarity
from replay.store import schema
from replay.store.store import RunStore

CONVERSATION = 8


class Timed:
    """``similarity``, and the CPU seconds that a turn took of the process that observed it."""

    is_neural = True
    signature = "timed"

    def __init__(self) -> None:
        self._scorer = similarity(device="cpu")
        self._is_loaded = False

    def observe(self, records: Sequence[TurnRecord]) -> list[Any]:
        if not self._is_loaded:
            self._scorer.observe(records[:2])
            self._is_loaded = True
        begun = process_time()
        found = self._scorer.observe(records)
        took_s = (process_time() - begun) / len(records)
        return [one if isinstance(one, Unscored) else [one, took_s] for one in found]

    def combine(self, observed: Any) -> float:
        return float(len(list(observed)))


class Nothing:
    """As good as no work."""

    is_neural = is_mean = True
    signature = "nothing"

    def observe(self, records: Sequence[TurnRecord]) -> list[float]:
        return [float(one.depth) for one in records]

    def combine(self, observed: Iterable[float]) -> float:
        values = list(observed)
        return sum(values) / len(values)


def write(folder: Path, turns: int) -> None:
    """A run of so many turns."""
    facts = {"scenario": {"folder": str(Path(__file__).parent), "text": "", "source": ""}, "seed": 0}
    store = RunStore.create(folder, facts)
    records = synthetic_turns(turns, 0, policies=2)
    names = sorted({one.recorded_conversation for one in records})
    asked = tuple(Turn(id=f"{depth}", question="Where?") for depth in range(1, CONVERSATION + 1))
    store.add_conversations([Conversation(id=name, turns=asked) for name in names], 0)
    asyncio.run(_written(store, records))
    store.close()


async def _written(store: RunStore, records: Iterable[TurnRecord]) -> None:
    rows = map(schema.record_row, records)
    while batch := list(islice(rows, 10_000)):
        await store.write_rows(batch)


def score_run(folder: Path, scorer: str, section: dict[str, Any] | None) -> None:
    """In this process; says as JSON what it took."""
    begun = perf_counter()
    store = RunStore(folder, write=True)
    with code_may_run():
        cluster = section and ClusterSection.model_validate(section)
        score_into(store, [Choice(name=f"cluster_scoring.py:{scorer}")], cluster=cluster or None)
    store.close()
    print(json.dumps({"wall_s": perf_counter() - begun, "cpu_s": process_time(), "peak": peak_mib()}))


def peak_mib() -> float:
    """The most that this process held; ``ru_maxrss`` would have what the one that started it held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def scored(folder: Path, scorer: str, section: dict[str, Any] | None = None) -> dict[str, float]:
    """What that took in a process of its own."""
    command = [sys.executable, __file__, "--run", str(folder), scorer, json.dumps(section)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def observed(folder: Path) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Score and CPU seconds of each turn that has a score."""
    store = RunStore(folder)
    try:
        found = store.scores("cluster_scoring.py:Timed")
        return {one[:4]: one.value for one in found if one.unscored is None}
    finally:
        store.close()


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of the process *pid* and all below it, those that have ended included."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents.setdefault(int(fields[1]), []).append(int(place.name))
            spent[int(place.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def below(one: int) -> Iterator[int]:
        yield one
        for child in parents.get(one, []):
            yield from below(child)

    return sum(spent.get(one, 0.0) for one in below(pid))


def compare(folder: Path, turns: int, section: dict[str, Any]) -> None:
    write(folder, turns)
    here = scored(folder, "Timed")
    alone = observed(folder)
    before = tree_cpu_s(os.getpid())
    there = scored(folder, "Timed", section)
    in_all = tree_cpu_s(os.getpid()) - before
    together = observed(folder)
    print(f"{turns:,} turns, each a second of CPU: observing, in all; wall; peak of the program")
    rows = [("here", alone, here, here["cpu_s"]), ("on the cluster", together, there, in_all)]
    for name, found, took, cpu_s in rows:
        each_s = sum(took_s for _, took_s in found.values()) / len(found)
        wall, peak = f"{took['wall_s']:.0f} s", f"{took['peak']:.0f} MiB"
        print(f"{name:15} {1 / each_s:7.0f} {turns / cpu_s:7.0f} {wall:>8} {peak:>10}")
    print(f"the program itself, on the cluster: {there['cpu_s']:.1f} CPU s")
    apart = [abs(score - together[place][0]) for place, (score, _) in alone.items()]
    print(f"{len(apart):,} scores, at most {max(apart):.1e} apart")


def main() -> None:
    parser = argparse.ArgumentParser(description="What scoring on a Ray cluster takes.")
    parser.add_argument("--turns", type=int, default=5_000)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--flat", default="20000,200000", help="numbers of turns; empty for none")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        folder, scorer, section = chosen.run
        score_run(Path(folder), scorer, json.loads(section))
        return
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80_000_000}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small}
    )
    try:
        for _ in range(chosen.actors):
            cluster.add_node(num_cpus=1, **small)
        section = {"address": cluster.address}
        with tempfile.TemporaryDirectory() as temporary:
            if chosen.turns:
                compare(Path(temporary) / "compared", chosen.turns, section)
            for turns in map(int, filter(None, chosen.flat.split(","))):
                folder = Path(temporary) / f"flat-{turns}"
                write(folder, turns)
                took = scored(folder, "Nothing", section)
                print(f"{turns:,} turns, no work: {took['wall_s']:.0f} s, peak {took['peak']:.0f} MiB")
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
