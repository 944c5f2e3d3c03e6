"""
Plays against real servers: LiteLLM's proxy, transformers serve, GuideLLM's mock server, a websockets server,
Gradio, LangServe, LangGraph's server, and what frameworks for agents serve (the AI SDK, AG-UI, Google's ADK,
Agno, Hayhooks, Genkit, A2A).

    python benchmarks/interop.py --folder /tmp/interop [--only litellm transformers]

Each is installed into an environment of its own below the folder (kept for the next time; some gigabytes
with torch), started on 127.0.0.1, and played against by ``replay run`` or ``replay stress`` as anybody would.
Prints versions and a table, and ends with 1 where a case didn't come out as ``counterparts.py`` says.
``docs/interop.md`` tells what was seen.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from counterpart import Case, Counterpart
from counterparts import COUNTERPARTS, MASTER_KEY, WRONG_KEY

from replay import Run, TurnRecord

CONVERSATIONS = Path(__file__).parent.parent / "scenarios" / "conversations"
STARTS_WITHIN_S = 180
RUNS_WITHIN_S = 180
STRESS_S = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of a case."""

    case: Case
    records: Sequence[TurnRecord]
    said: str
    """What the program printed, where no run was made."""

    @property
    def answered(self) -> list[TurnRecord]:
        return [record for record in self.records if record.outcome == "answered"]

    @property
    def outcomes(self) -> dict[str, int]:
        return dict(Counter(record.outcome for record in self.records))

    @property
    def wrong(self) -> list[str]:
        """How it isn't as it should be."""
        case, answered = self.case, self.answered
        if not self.records:
            return [f"no run: {self.said[-300:]}"]
        found = []
        if set(self.outcomes) != {case.outcome}:
            found.append(f"outcomes {self.outcomes}, not {case.outcome} alone")
        with_usage = [r for r in answered if r.usage and r.usage.prompt_tokens and r.usage.completion_tokens]
        if case.usage and len(with_usage) != len(answered):
            found.append(f"tokens of {len(with_usage)} answers alone")
        if case.cost and not all(r.cost_usd for r in answered):
            found.append("no cost")
        times = [r.timing for r in answered if r.timing]
        if case.streams and not all(t.ttft_s is not None and t.ttft_s <= t.latency_s for t in times):
            found.append("no first token in some")
        if case.streams and not any(t.token_gaps_100us for t in times):
            found.append("no gaps between tokens")
        told = [(f"After {case.remembers * (r.depth - 1)} ", r.answer or "") for r in answered]
        if case.remembers and (other := [answer for begins, answer in told if not answer.startswith(begins)]):
            found.append(f"{len(other)} answers with another history: {other[0]}")
        return found

    def row(self) -> tuple[str, ...]:
        answered = self.answered
        times = [r.timing for r in answered if r.timing]
        usage = [r.usage for r in answered if r.usage]
        tokens = f"{_mid([u.prompt_tokens for u in usage])} / {_mid([u.completion_tokens for u in usage])}"
        error = next((record.error for record in self.records if record.error), None) or ""
        return (
            self.case.name,
            f"{len(answered)} of {len(self.records)}",
            tokens if usage else "-",
            "yes" if answered and all(r.cost_usd is not None for r in answered) else "-",
            _ms([t.ttft_s for t in times if t.ttft_s is not None]),
            _ms([t.latency_s for t in times]),
            "; ".join(self.wrong) or ("as expected" if not error else f"as expected: {error[:160]}"),
        )


HEAD = ("case", "answered", "tokens in / out", "cost", "TTFT ms", "latency ms", "seen")


def _mid(counts: Sequence[int | None]) -> str:
    known = [count for count in counts if count is not None]
    return f"{median(known):g}" if known else "-"


def _ms(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1000:.1f}" if seconds else "-"


def installed(one: Counterpart, folder: Path) -> Path:
    """
    The ``bin`` folder of its environment, which is made where there is none.

    Raises:
        subprocess.CalledProcessError: something can't be installed.
    """
    environment = folder / "environment"
    done = folder / "installed"
    if not done.exists() and one.npm:
        environment.mkdir(exist_ok=True)
        npm = ["npm", "install", "--silent", "--prefix", environment, *one.npm]
        subprocess.run(npm, check=True, capture_output=True, text=True)
        done.touch()
    elif not done.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        for package in one.packages:
            pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", package]
            subprocess.run(pip, check=True, capture_output=True, text=True)
        done.touch()
    return environment / "bin"


def versions(one: Counterpart, binaries: Path) -> str:
    if one.npm:
        modules = binaries.parent / "node_modules"
        found = (json.loads((modules / name / "package.json").read_text("utf-8")) for name in one.versions_of)
        return ", ".join(f"{package['name']} {package['version']}" for package in found)
    code = "import sys\nfrom importlib.metadata import version\nfor n in sys.argv[1:]: print(n, version(n))"
    command = [binaries / "python", "-c", code, *one.versions_of]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return ", ".join(said.split("\n")[:-1])


@contextmanager
def started(one: Counterpart, binaries: Path, folder: Path) -> Iterator[str]:
    """
    Its address, while it runs.

    Raises:
        RuntimeError: it doesn't start.
    """
    environment = {**os.environ, **one.environment}
    if command := one.prepare(binaries, folder):
        subprocess.run(command, check=True, env=environment, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            one.command(binaries, folder, port),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE if one.ready is None else out,
            stderr=out,
        )
    try:
        if one.ready is None:
            assert process.stdout is not None
            yield f"ws://127.0.0.1:{int(process.stdout.readline())}"
        else:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url + one.ready, process, log)
            yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.5)
    raise RuntimeError(f"it doesn't start: {log.read_text(errors='replace')[-1000:]}")


def played(case: Case, url: str, folder: Path, number: int) -> Seen:
    """The case, played as a user would."""
    scenario = {
        "name": f"interop-{number}",
        "data": {"path": "m*.jsonl"},
        "systems": [{"name": "it", "adapter": case.adapter, "settings": _filled(case.settings, url, folder)}],
        "policies": ["pred"],
        "scorers": ["f1"],
        "play": {"concurrency": 4, "attempts": 1, "timeout_s": 60},
    }
    file = folder / f"scenario-{number}.yaml"
    file.write_text(yaml.safe_dump(scenario), "utf-8")
    runs = folder / f"runs-{time.time_ns()}"
    load = ["--concurrency", "8", "--duration", str(STRESS_S), "--warmup", "0"] if case.stress else []
    verb = "stress" if case.stress else "run"
    done = subprocess.run(
        [sys.executable, "-m", "replay", verb, str(file), *load, "--runs", str(runs)],
        env={**os.environ, "INTEROP_KEY": MASTER_KEY, "INTEROP_WRONG_KEY": WRONG_KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUNS_WITHIN_S,
    )
    made = sorted(runs.iterdir()) if runs.is_dir() else []
    return Seen(case=case, records=list(Run(made[-1]).records()) if made else [], said=done.stdout)


def _filled(value: Any, url: str, folder: Path) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, url, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, url, folder) for item in value]
    if isinstance(value, str):
        return value.replace("{url}", url).replace("{folder}", str(folder))
    return value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, required=True, help="for environments, servers' files and runs"
    )
    parser.add_argument("--only", nargs="+", choices=COUNTERPARTS, default=list(COUNTERPARTS))
    options = parser.parse_args()
    failed = False
    for name in options.only:
        one = COUNTERPARTS[name]
        folder = (options.folder / name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for data in CONVERSATIONS.glob("m*.jsonl"):
            shutil.copy(data, folder)
        try:
            binaries = installed(one, folder)
            print(f"\n{one.name}: {versions(one, binaries)}\n\n| {' | '.join(HEAD)} |")
            print("|" + "---|" * len(HEAD), flush=True)
            with started(one, binaries, folder) as url:
                for number, case in enumerate(one.cases):
                    seen = played(case, url, folder, number)
                    failed = failed or bool(seen.wrong)
                    row = (cell.replace("|", "\\|").replace("\n", " ") for cell in seen.row())
                    print(f"| {' | '.join(row)} |", flush=True)
        except (RuntimeError, subprocess.SubprocessError) as error:
            failed = True
            print(f"\n{one.name} could not be played against: {error}", flush=True)
            print(getattr(error, "stderr", None) or "", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
