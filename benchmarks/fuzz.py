"""
Bad input without end: how many inputs each reader, parser and adapter takes, and which one breaks it.

    python benchmarks/fuzz.py --seconds 600 [--target NAME] [--seed N]

The tests in ``tests/fuzz`` try a fixed few; this tries new ones for as long as it is told, target after
target. An input that gives anything but a result or an error of ours, or that takes longer than ten seconds,
is written to ``--out``, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz.inputs import mutated
from tests.fuzz.replies import REPLIES, trying
from tests.fuzz.targets import TARGETS

LONGEST_S = 10.0
LONGEST_SEED = 50_000


class Tally:
    """What became of one target's inputs."""

    def __init__(self, name: str, out: Path) -> None:
        self.name = name
        self.tried = 0
        self.broken: set[str] = set()
        self._out = out

    def failed(self, content: bytes, error: BaseException) -> None:
        """Keep the first input of each kind of failure."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {str(error)[:100]}"
        if kind not in self.broken:
            self.broken.add(kind)
            path = self._out / f"{self.name.replace(' ', '-')}-{len(self.broken)}"
            path.write_bytes(content)
            print(f"{self.name}: {kind} -> {path}", flush=True)


def inputs(seeds: Sequence[bytes], random: Random) -> Callable[[], bytes]:
    """A function that gives one bad input after another."""
    small = [seed for seed in seeds if len(seed) < LONGEST_SEED]
    return lambda: mutated(random.choice(small), random)


def try_files(name: str, seconds: float, random: Random, tally: Tally) -> None:
    """Files and texts."""
    target = TARGETS[name]
    make = inputs(target.seeds, random)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while (began := time.monotonic()) < until:
            content = make()
            tally.tried += 1
            try:
                target.tried(content, Path(folder))
                took = time.monotonic() - began
                assert took < LONGEST_S, "it took too long"
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                tally.failed(content, error)


async def try_replies(name: str, seconds: float, random: Random, tally: Tally) -> None:
    """Replies over sockets and pipes."""
    target = REPLIES[name]
    make = inputs(target.seeds, random)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        async with trying(target, Path(folder)) as tried:
            while time.monotonic() < until:
                content = make()
                tally.tried += 1
                try:
                    async with asyncio.timeout(LONGEST_S):
                        await tried(content)
                except Exception as error:  # noqa: BLE001 - that is what is looked for
                    tally.failed(content, error)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description="Try bad input on everything that reads what strangers write."
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--target", action="append", choices=[*TARGETS, *REPLIES])
    parser.add_argument(
        "--seed", type=int, default=None, help="the same inputs again; another each time without"
    )
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "convreplay-fuzz")
    chosen: Any = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    seed = time.time_ns() if chosen.seed is None else chosen.seed
    names = chosen.target or [*TARGETS, *REPLIES]
    tallies = []
    for name in names:
        tally, random = Tally(name, chosen.out), Random(f"{seed} {name}")
        tallies.append(tally)
        if name in TARGETS:
            try_files(name, chosen.seconds / len(names), random, tally)
        else:
            asyncio.run(try_replies(name, chosen.seconds / len(names), random, tally))
    print(f"seed {seed}, {chosen.seconds:g} s")
    for tally in tallies:
        print(f"  {tally.name:<20} {tally.tried:>8,} inputs  {len(tally.broken)} kinds of failure")
    print(f"  {'all':<20} {sum(t.tried for t in tallies):>8,} inputs")
    return 1 if any(tally.broken for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
