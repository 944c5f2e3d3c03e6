"""
What the verbs need of memory for a run of so many turns: each in a process of its own, its peak RSS.

    python benchmarks/verb_memory.py [--turns 10000,100000]

The scripted adapter under ``gold`` and ``pred`` (half of the turns each) on made-up conversations of five
turns, drift detected, with the scorers of a scenario that names none.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from replay_client import write_conversations
from side_by_side import table
from varied_texts import made_up_conversations

TURNS_EACH = 5
ANSWER = "the city lies on a river and its old bridge was built by masons who came from the hills the"


def peak_mib(verb: list[str], folder: Path) -> tuple[float, float]:
    """Peak RSS in MiB and the seconds that ``replay`` *verb* takes in *folder*; the run's end if it fails."""
    begun = time.perf_counter()
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "replay", *verb], cwd=folder, stdout=said, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"replay {' '.join(verb)} failed:\n{(folder / 'said.txt').read_text()}")
    return used.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024), time.perf_counter() - begun


def measured(turns: int) -> list[tuple[str, ...]]:
    """A row for each verb."""
    with tempfile.TemporaryDirectory(prefix="replay-benchmark-") as name:
        folder = Path(name)
        write_conversations(
            folder / "talks.jsonl", made_up_conversations(turns // TURNS_EACH // 2, TURNS_EACH)
        )
        system = {"name": "s", "adapter": "scripted", "settings": {"answers": [ANSWER] * TURNS_EACH}}
        scenario = {
            "name": "memory",
            "data": {"path": "talks.jsonl"},
            "systems": [system],
            "policies": ["gold", "pred"],
            "play": {"concurrency": 64},
        }
        (folder / "s.yaml").write_text(json.dumps(scenario), "utf-8")
        rows = [("run", *peak_mib(["run", "s.yaml"], folder))]
        (run,) = map(str, (folder / "runs").iterdir())
        for verb in (
            ["report", run],
            ["compare", run, "--policies", "gold,pred"],
            ["export", run, "--format", "csv", "--out", "turns.csv"],
            ["export", run, "--format", "jsonl", "--out", "turns.jsonl"],
        ):
            shown = " ".join([verb[0], *verb[3:4]]) if verb[0] == "export" else verb[0]
            rows.append((shown, *peak_mib(verb, folder)))
    return [(f"{turns:,}", verb, f"{mib:.0f}", f"{seconds:.0f}") for verb, mib, seconds in rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", default="10000,100000", help="with commas between")
    options = parser.parse_args()
    rows = [row for turns in options.turns.split(",") for row in measured(int(turns))]
    print("\n".join(table(("turns", "verb", "peak RSS, MiB", "seconds"), rows)))


if __name__ == "__main__":
    main()
