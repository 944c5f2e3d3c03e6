"""
What a run on a Ray cluster costs, on this machine alone.

    python benchmarks/cluster.py overhead [--turns 20000] [--rounds 3]
    python benchmarks/cluster.py memory [--conversations 100000] [--nodes 2]
    python benchmarks/cluster.py constants
    python benchmarks/cluster.py records --data canard_dev.json [--conversations N]

``overhead``: the same scenario played by two processes (``play.workers``) and by two actors, in turns; no
drift is detected, so that what lies between program and players is as large a part as it can be. The server
is ``fast_server.py``. CPU time is that of the program and of who plays, Ray's own processes beside it (they
are there while processes play, too), of a run of ``--turns`` turns less that of a run of a hundredth, in
which starting is all there is.

``memory``: so many conversations of two turns with the scripted adapter; what program, actors and Ray's own
processes hold at each tenth.

``constants``: what the cost model of ``docs/cluster.md`` counts with. Bytes of a row, rows a second of the
one program that writes, memory of a conversation under way, scoring, and going on with a run.

``records``: a data set played here and by the nodes, under ``pred`` and ``rewrite`` with drift detected and a
system whose answers have nothing to do with the questions; how many records are the same but for their times.

The cluster is one of this machine: a head that plays nothing and nodes of one CPU each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pickle
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from marked_processes import KINDS, Watch, mark
from replay_client import write_conversations
from side_by_side import Spread, server, table
from varied_texts import made_up_answers, made_up_conversations

import replay
from replay.core.record import TurnRecord
from replay.scenario.reading import read_choices
from replay.store.schema import record_row
from replay.store.store import DATABASE, RunStore
from replay.workers.cluster.actor import RecordBatch

TURNS_EACH = 5
WAITING_S = 2.0
OBJECTS_BYTES = 80_000_000
SMALL = 100
"""One part in so many of a run is a run that only starts."""


@contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """A cluster of this machine; its address."""
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": OBJECTS_BYTES}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    for _ in range(nodes):
        made.add_node(num_cpus=1, **small)
    try:
        yield made.address
    finally:
        made.shutdown()


def scenario(data: Path, system: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An unscored run under ``pred`` without drift detection."""
    return {
        "name": "cluster",
        "data": {"path": str(data), "format": "native"},
        "systems": [{"name": "s", **system}],
        "policies": [{"pred": {"detect": False}}],
        "scorers": [],
        **more,
    }


def asked_of(url: str) -> dict[str, Any]:
    return {"adapter": "openai", "settings": {"base_url": url, "model": "fast"}}


def scripted(delay_s: float = 0.0) -> dict[str, Any]:
    return {
        "adapter": "scripted",
        "settings": {"answers": {"*": made_up_answers(TURNS_EACH)}, "delay_s": delay_s},
    }


def data_in(folder: Path, conversations: int, turns: int) -> Path:
    """A data set of so many conversations; one that is there is taken."""
    path = folder / f"{conversations}x{turns}.jsonl"
    if not path.exists():
        write_conversations(path, made_up_conversations(conversations, turns))
    return path


@contextmanager
def playing(content: Mapping[str, Any], runs: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program of its own that plays, in *runs*; waited for at the end."""
    command = [sys.executable, __file__, "play", json.dumps(content), str(runs)]
    with subprocess.Popen(command) as program:
        try:
            yield program
            if program.wait():
                sys.exit("the run failed")
        finally:
            program.kill()


def watched(content: Mapping[str, Any]) -> tuple[Watch, float]:
    """What playing *content* took, and seconds on the clock."""
    with tempfile.TemporaryDirectory() as runs:
        begun = time.perf_counter()
        with Watch() as watch, playing(content, Path(runs)):
            pass
        return watch, time.perf_counter() - begun


def overhead(options: argparse.Namespace) -> None:
    """Actors against processes."""
    play = {"concurrency": options.connections, "attempts": 1}
    found: dict[str, list[dict[str, float]]] = {"2 processes": [], "2 actors of Ray": []}
    with tempfile.TemporaryDirectory() as folder, server() as fast, cluster(2) as address:
        sizes = [options.turns, options.turns // SMALL]
        data = [data_in(Path(folder), turns // TURNS_EACH, TURNS_EACH) for turns in sizes]
        for number in range(options.rounds):
            for name, who in (
                ("2 processes", {"play": {**play, "workers": 2}}),
                ("2 actors of Ray", {"play": play, "cluster": {"address": address}}),
            ):
                (large, large_s), (small, small_s) = (
                    watched(scenario(path, asked_of(fast.url), **who)) for path in data
                )
                turns = sizes[0] - sizes[1]
                one = {kind: 1e3 * (large.cpu_s[kind] - small.cpu_s[kind]) / turns for kind in KINDS}
                one["all"] = one["program"] + one["players"]
                one["seconds"] = large_s - small_s
                one["start"] = sum(small.cpu_s[kind] for kind in KINDS)
                found[name].append(one)
                print(f"round {number + 1}: {name}: {one}", file=sys.stderr, flush=True)
    columns = ("all", *KINDS)
    rows = [
        [
            name,
            *(Spread.of([one[key] for one in each]).shown(".3f") for key in columns),
            Spread.of([turns / one["seconds"] for one in each]).shown(),
            Spread.of([one["start"] for one in each]).shown(".1f"),
        ]
        for name, each in found.items()
    ]
    head = ("who plays", *(f"{key}, CPU ms/turn" for key in columns), "turns/s", "starting, CPU s")
    print("\n".join(table(head, rows)))
    both = Spread.of([here["all"] / there["all"] for here, there in zip(*found.values(), strict=True)])
    print(f"\nturns of a CPU second, Ray's of processes': {both.shown('.2f')}")


def memory(options: argparse.Namespace) -> None:
    """Who holds how much while the run goes on."""
    turns, rows = 2 * options.conversations, []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, cluster(options.nodes) as address:
        data = data_in(Path(folder), options.conversations, 2)
        play = {"concurrency": options.connections}
        content = scenario(data, scripted(), play=play, cluster={"address": address})
        begun, due = time.perf_counter(), 1
        with Watch() as watch, playing(content, Path(folder)) as program:
            while due <= 10:
                time.sleep(0.5)
                done = rows_in(Path(folder))
                if done * 10 < due * turns:
                    if program.poll() is not None:
                        break
                    continue
                due = done * 10 // turns + 1
                held = [watch.mib.get(kind, []) for kind in KINDS]
                rows.append(
                    [f"{done / turns:.0%}", f"{time.perf_counter() - begun:,.0f}", f"{done:,}"]
                    + [" + ".join(f"{one:.0f}" for one in sorted(each)) for each in held[:2]]
                    + [f"{sum(held[2]):,.0f}"]
                )
                print("\t".join(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(table(("played", "s", "turns", "program, MiB", "actors, MiB", "Ray's own, MiB"), rows)))


def rows_in(runs: Path) -> int:
    """Turns recorded by the only run in the folder."""
    for path in runs.glob(f"*/{DATABASE}"):
        with (
            suppress(sqlite3.OperationalError),  # it is only just being made
            closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database,
        ):
            return int(database.execute("SELECT coalesce(max(rowid), 0) FROM turn").fetchone()[0])
    return 0


def constants(options: argparse.Namespace) -> None:
    """One line for each."""
    with tempfile.TemporaryDirectory() as name, server() as fast:
        folder = Path(name)
        data = data_in(folder, options.turns // TURNS_EACH, TURNS_EACH)
        for raw in (False, True):
            run = played(scenario(data, asked_of(fast.url), play={"keep_raw": raw}), folder)
            size = sum(path.stat().st_size for path in run.folder.iterdir())
            kept = "and raw replies" if raw else "without raw replies"
            print(f"database, {kept}: {size / options.turns:,.0f} bytes/turn")
        rows = [record_row(record) for record in run.records()]
        together = pickle.dumps(RecordBatch([("row", row) for row in rows[:8]], False), -1)
        print(f"on the wire, rows in eights: {len(together) / 8:,.0f} bytes/turn")
        store = RunStore.create(folder / "written", {"name": "written"})
        begun = time.perf_counter(), time.process_time()
        asyncio.run(written(store, rows))
        wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
        store.close()
        print(
            f"one program writes {len(rows) / wall:,.0f} rows/s, {1e6 * cpu / len(rows):.0f} us of CPU each"
        )
        folder_of = str(run.folder)
        for what, verb in (
            (
                "scored with f1 and em",
                partial(replay.score, folder_of, read_choices(["f1", "em"], "benchmark")),
            ),
            ("gone on with", partial(replay.resume, folder_of)),
        ):
            cpu = time.process_time()
            verb()
            us = 1e6 * (time.process_time() - cpu) / len(rows)
            print(f"{what}: {us:.0f} us of CPU for each turn that is there")
    under_way(options)


def played(content: Mapping[str, Any], runs: Path) -> replay.Run:
    return asyncio.run(replay.run_async(dict(content), runs=runs))


async def written(store: RunStore, rows: Sequence[Any]) -> None:
    """Write *rows* in sixty-fours, as busy nodes send them."""
    for at in range(0, len(rows), 64):
        await store.write_rows(rows[at : at + 64])


def under_way(options: argparse.Namespace) -> None:
    """Memory of a process that plays, by how many conversations are open."""
    held = {}
    with tempfile.TemporaryDirectory() as folder:
        for open_ones in (10, options.open):
            data = data_in(Path(folder), open_ones, TURNS_EACH)
            play = {"concurrency": open_ones, "workers": 2}
            content = scenario(data, scripted(delay_s=WAITING_S), play=play)
            watch, _ = watched(content)
            held[open_ones] = {kind: sum(watch.most_mib[kind]) for kind in KINDS}
    more = options.open - 10
    for kind, who, count in (("program", "the program", 1), ("players", "a process that plays", 2)):
        kib = 1024 * (held[options.open][kind] - held[10][kind]) / more
        print(f"{who}: {held[10][kind] / count:.0f} MiB, and {kib:.0f} KiB for each open conversation")


def records(options: argparse.Namespace) -> None:
    """The same data set here and there."""
    content = {
        **scenario(Path(options.data).absolute(), scripted()),
        "data": {"path": str(Path(options.data).absolute()), "limit": options.conversations},
        "policies": ["pred", "rewrite"],
    }
    with tempfile.TemporaryDirectory() as folder, cluster(options.nodes) as address:
        runs = [played({**content, **more}, Path(folder)) for more in ({}, {"cluster": {"address": address}})]
        here, there = (dict(map(_without_times, run.records())) for run in runs)
    same = sum(there.get(place) == record for place, record in here.items())
    checked = [record.drift for record in here.values() if record.drift]
    invalid = sum(drift.invalid for drift in checked)
    print(f"{len(here):,} records here, {len(there):,} there, {same:,} the same")
    print(f"of {len(checked):,} checked questions {invalid:,} are invalid")


def _without_times(record: TurnRecord) -> tuple[tuple[str, ...], TurnRecord]:
    place = (record.system, record.policy, record.conversation, str(record.depth))
    return place, msgspec.structs.replace(record, timing=None, started_at=None, step_times_s=())


def play_here(content: str, runs: str) -> None:
    replay.run(json.loads(content), runs=runs)


def main() -> None:
    """Entry point."""
    if sys.argv[1:2] == ["play"]:
        return play_here(*sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--conversations", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--data", help="a data set of conversations")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--open", type=int, default=2000, help="conversations, whose memory is looked at")
    parser.add_argument("--folder", help="with room for the run's database")
    options = parser.parse_args()
    mark()
    PARTS[options.part](options)
    return None


PARTS = {"overhead": overhead, "memory": memory, "constants": constants, "records": records}

if __name__ == "__main__":
    main()
