"""
A load run killed while its drift is detected, and resumed: is anything lost, judged twice or asked again?

    python benchmarks/late_drift_kills.py [--turns 100000] [--sample 10000] [--kills 3]

Plays a load of made-up conversations (``varied_texts.py``) against ``fast_server.py`` with ``replay run``.
Once verdicts come, the program is killed (SIGKILL) and resumed, ``--kills`` times. Prints how many turns and
verdicts there were at each kill, and at the end the share that the load report tells. Ends with 1 where a
turn was lost, an answer was asked again, a verdict that was kept changed, or the sample isn't whole.
"""

from __future__ import annotations

import argparse
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml
from replay_client import write_conversations
from side_by_side import server
from varied_texts import made_up_conversations

from replay.report.load_document import drift_sentences
from replay.results.run import Run, newest_run

LOOK_EVERY_S = 0.5


def rows(folder: Path, sql: str) -> list[Any]:
    """What the run's database says, as it is now."""
    with closing(sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def verdicts(folder: Path) -> dict[int, str]:
    """The verdicts by the row of their turn."""
    return dict(rows(folder, "SELECT rowid, drift FROM turn WHERE drift IS NOT NULL"))


def killed(arguments: list[str], work: Path, at: int) -> bool:
    """Run ``replay`` with *arguments* and kill it at so many verdicts; whether that came in time."""
    command = [sys.executable, "-m", "replay", *arguments]
    with subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(LOOK_EVERY_S)
            if (work / "runs").is_dir() and len(verdicts(newest_run(work / "runs"))) >= at:
                process.send_signal(signal.SIGKILL)
                process.wait()
                return True
        return False


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    faults = []
    with tempfile.TemporaryDirectory(prefix="replay-benchmark-") as name, server() as fast:
        work = Path(name)
        write_conversations(work / "all.jsonl", made_up_conversations(options.turns // 50, 5))
        content = {
            "name": "load",
            "data": {"path": "all.jsonl"},
            "systems": [
                {"name": "fast", "adapter": "openai", "settings": {"base_url": fast.url, "model": "m"}}
            ],
            "policies": ["pred"],
            "scorers": [],
            "drift": {"load_sample": options.sample},
            "load": {"profile": "closed", "concurrency": 64, "turns": options.turns},
        }
        (work / "load.yaml").write_text(yaml.safe_dump(content))
        arguments, kept, before = ["run", "load.yaml"], {}, None
        for number in range(1, options.kills + 1):
            in_time = killed(arguments, work, number * options.sample // (options.kills + 1))
            folder = newest_run(work / "runs")
            found, turns, asks = (
                verdicts(folder),
                rows(folder, "SELECT count(*) FROM turn")[0][0],
                fast.stats()["requests"],
            )
            print(f"kill {number}: {turns:,} turns, {asks:,} asks, {len(found):,} verdicts", flush=True)
            if not in_time:
                faults.append(f"it was over before kill {number}")
            if kept.items() - found.items():
                faults.append(f"kill {number}: a verdict that was kept is another")
            if before not in (None, (turns, asks)):
                faults.append(f"kill {number}: turns were lost, or questions asked again")
            arguments, kept, before = ["resume"], found, (turns, asks)
        subprocess.run(
            [sys.executable, "-m", "replay", "resume"], cwd=work, check=True, stdout=subprocess.DEVNULL
        )
        run = Run(newest_run(work / "runs"))
        found = verdicts(run.folder)
        if kept.items() - found.items() or before != (run.state().records, fast.stats()["requests"]):
            faults.append("the last resume changed a verdict, lost a turn or asked again")
        if len(found) != options.sample:
            faults.append(f"{len(found):,} verdicts, not {options.sample:,}")
        summary = run.load_summary()
        assert summary is not None
        print(*drift_sentences(summary), sep="\n")
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
