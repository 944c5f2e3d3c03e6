"""
What it takes to sum up and to score a load run of many turns.

    python benchmarks/load_summary.py --turns 1000000 --tokens 16

Writes a run of that many turns into a temporary folder (some 1.2 GB for a million), then sums it up and
scores it in a process of its own each, and prints seconds and the process's peak memory.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from replay.core.conversation import Conversation, Turn
from replay.core.record import Timing, TurnRecord, Usage
from replay.core.settings.choice import Choice
from replay.results.run import Run
from replay.results.scoring import score_into
from replay.store import schema
from replay.store.database import connect
from replay.store.reader import DATABASE
from replay.store.store import RunStore

CONVERSATIONS = 500
DEPTHS = 10
LEVELS = 5
RATE = 1000.0
"""Turns a second."""


def records(turns: int, tokens: int) -> Iterator[TurnRecord]:
    rng = random.Random(1)
    for number in range(turns):
        play, depth = divmod(number, DEPTHS)
        source = f"c{play % CONVERSATIONS}"
        due_s, latency_s = number / RATE, rng.lognormvariate(-2, 0.5)
        yield TurnRecord(
            system="s",
            policy="pred",
            conversation=f"{source}~{play // CONVERSATIONS}",
            source=source,
            depth=depth + 1,
            turn=f"{source}#{depth + 1}",
            recorded="Where was the singer of this album born, and when?",
            asked="Where was the singer of this album born, and when?",
            edit="kept",
            drift=None,
            outcome="answered" if rng.random() > 0.01 else "timed-out",
            answer="She was born in Port Ellis, in the year in which the harbour was built. " * 5,
            gold_answers=("She was born in Port Ellis.",),
            usage=Usage(prompt_tokens=100, completion_tokens=tokens),
            timing=Timing(
                scheduled_s=due_s,
                sent_s=due_s + 0.0002,
                done_s=due_s + latency_s,
                first_token_s=due_s + latency_s / 4,
                token_gaps_100us=tuple(rng.choices(range(100), k=tokens - 1)),
            ),
        )


def write(folder: Path, turns: int, tokens: int) -> None:
    length_s = turns / RATE / LEVELS
    facts = {
        "load": {"profile": "poisson", "slo": {"latency_p99_s": 1.0}},
        "seed": 0,
        "scenario": {"folder": str(folder), "text": "", "source": "benchmark"},
    }
    store = RunStore.create(folder, facts)
    for number in range(CONVERSATIONS):
        asked = tuple(Turn(id=f"c{number}#{depth}", question="Where?") for depth in range(1, DEPTHS + 1))
        store.add_conversations([Conversation(id=f"c{number}", turns=asked)], number)
    for index in range(LEVELS):
        begin = index * length_s
        end = begin + length_s
        moments = {"began_s": begin, "measured_from_s": begin, "measured_to_s": end, "ended_s": end}
        lag = {"samples": 9, "p50_s": 0.0001, "p99_s": 0.001, "max_s": 0.002}
        offered = {"name": f"{index + 1} conversations/s", "value": index + 1.0}
        generators = [{"number": 0, "host": "here", "conversations": CONVERSATIONS // LEVELS, "lag": lag}]
        store.add_event("level", {"index": index, "generators": generators, **offered, **moments})
    store.close()
    connection = connect(folder / DATABASE)
    connection.execute("BEGIN")
    batch = []
    for record in records(turns, tokens):
        batch.append(schema.record_row(record))
        if len(batch) == 10_000:
            schema.insert_records(connection, batch)
            batch.clear()
    schema.insert_records(connection, batch)
    connection.execute("COMMIT")
    connection.close()


def measure(what: str, folder: Path) -> None:
    """Do it in this process and say what it took."""
    begin = perf_counter()
    if what == "score":
        store = RunStore(folder, write=True)
        score_into(store, [Choice(name="f1")])
        store.close()
    else:
        summary = Run(folder).load_summary()
        assert summary is not None
        assert summary.series is not None
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}: {perf_counter() - begin:.1f} s, peak {peak_mib:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="What it takes to sum up a load run.")
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=16, help="pieces of each answer")
    parser.add_argument("--only", choices=["summary", "score"], help=argparse.SUPPRESS)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only:
        measure(chosen.only, chosen.run)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        write(folder, chosen.turns, chosen.tokens)
        print(f"{chosen.turns:,} turns, {(folder / DATABASE).stat().st_size / 1e6:.0f} MB", flush=True)
        for what in ("summary", "score", "summary"):
            if what == "summary":
                print("with scores:" if (folder / "scored").exists() else "without scores:", flush=True)
            subprocess.run([sys.executable, __file__, "--only", what, "--run", str(folder)], check=True)
            (folder / "scored").touch()


if __name__ == "__main__":
    main()
