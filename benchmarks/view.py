"""
How fast `replay view` answers for a large run, and how large the static file gets.

    python benchmarks/view.py [--conversations 10000] [--turns 8]

Makes a run of made-up answers, serves it as the command does, and asks over HTTP as a browser would.
Prints the first answer of each page, then the middle and the slowest of more.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.drift_evidence import Drift
from replay.core.record import Timing, TurnRecord
from replay.store.rows import StoredScore
from replay.store.store import RunStore

SCENARIO = """\
name: large
data: {path: made-up.jsonl, format: native}
systems: [{name: made-up, adapter: extractive}]
policies: [gold, pred]
"""
SCORERS = ("f1", "em", "rouge_l")


def words(rng: random.Random, count: int) -> str:
    return " ".join(
        f"{rng.choice('bcdfgklmnprst')}{rng.choice('aeiou')}{rng.randrange(900)}" for _ in range(count)
    )


async def make_run(folder: Path, conversations: int, turns: int) -> None:
    """Half of the turns under each of two policies."""
    rng = random.Random(1)
    store = RunStore.create(
        folder,
        {
            "scenario": {"text": SCENARIO, "source": "large.yaml", "folder": str(folder)},
            "name": "large",
            "seed": 1,
            "begun": "2026-01-01T00:00:00.000+00:00",
            "version": "0",
            "python": "3",
            "platform": "made up",
            "systems": ["made-up"],
            "policies": {"gold": "gold", "pred": "pred"},
            "histories": {"made-up": {"gold": "gold", "pred": "own"}},
        },
    )
    scores: dict[str, list[StoredScore]] = {name: [] for name in SCORERS}
    at = 0.0
    for n in range(conversations):
        id = f"c{n}"
        made = Conversation(
            id=id,
            title=words(rng, 3),
            background=words(rng, 60),
            turns=tuple(
                Turn(id=f"{id}#{d}", question=words(rng, 9) + "?", gold_answers=(words(rng, 15),))
                for d in range(1, turns // 2 + 1)
            ),
        )
        store.add_conversations([made], n)
        writes = []
        for policy in ("gold", "pred"):
            for depth, turn in enumerate(made.turns, 1):
                at += 0.01
                drift = (
                    Drift(valid=rng.random() < 0.85, mentions=(), mode="strict") if policy == "pred" else None
                )
                writes.append(
                    store.write(
                        TurnRecord(
                            system="made-up",
                            policy=policy,
                            conversation=id,
                            depth=depth,
                            turn=turn.id,
                            recorded=turn.question,
                            asked=turn.question,
                            edit="kept",
                            drift=drift,
                            outcome="answered",
                            answer=words(rng, 20),
                            gold_answers=turn.gold_answers,
                            passages=(Passage(id="p", text=words(rng, 80)),),
                            timing=Timing(scheduled_s=at, sent_s=at, done_s=at + rng.random()),
                        )
                    )
                )
                for found in scores.values():
                    found.append(StoredScore(id, "made-up", policy, depth, rng.random(), None))
        await asyncio.gather(*writes)
    for name, found in scores.items():
        store.add_scores(name, found)
    store.set_fact("scorers", [{"label": name, "name": name, "settings": {}} for name in SCORERS])
    store.set_fact("finished", True)
    store.add_event("scored", {})
    store.close()


def get(url: str) -> tuple[float, int]:
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=60) as answer:
        size = len(answer.read())
    return time.perf_counter() - began, size


def measure(address: str, key: str) -> None:
    run = f"{address}run/{key}/"
    quote = urllib.parse.quote
    pages = {
        "first page (overview)": run,
        "list": f"{run}conversations",
        "list, worst f1 first": f"{run}conversations?sort=f1",
        "list, worst drift first": f"{run}conversations?sort=drift",
        "list, page 100": f"{run}conversations?page=100",
        "search, one word": f"{run}conversations?q=ba77",
        "search, nothing found": f"{run}conversations?q=nowhere+to+be+found",
        "search, beyond ASCII": f"{run}conversations?q={quote('ÄÖ')}",
        "search and sort": f"{run}conversations?q=ka1&sort=f1",
        "one conversation": f"{run}conversation?id=c4711",
        "state": f"{run}state",
    }
    print(f"{'':26}{'first':>9}{'median':>9}{'slowest':>9}{'kB':>7}")
    for name, url in pages.items():
        first, size = get(url)
        more = [get(url)[0] for _ in range(9)]
        print(
            f"{name:26}{1000 * first:6.0f} ms{1000 * statistics.median(more):6.0f} ms"
            f"{1000 * max(more):6.0f} ms{size / 1000:7.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=8, help="of each conversation, over both policies")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "large"
        began = time.perf_counter()
        asyncio.run(make_run(folder, options.conversations, options.turns))
        size = (folder / "run.db").stat().st_size
        print(
            f"{options.conversations:,} conversations, {options.conversations * options.turns:,} turns, "
            f"{size / 1e6:.0f} MB, made in {time.perf_counter() - began:.0f} s"
        )
        command = [sys.executable, "-m", "replay", "view", str(folder), "--port", "0", "--no-token"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            try:
                assert server.stdout
                address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
                measure(address, folder.name)
            finally:
                server.terminate()
        from replay.viewer.pages import write_report

        began = time.perf_counter()
        written = write_report(folder, Path(place) / "page.html")
        print(f"static file: {written.summary()}, in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
