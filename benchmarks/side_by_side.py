"""
Clients against one server in one run: processes started, pinned, measured and compared.

What ``throughput.py`` and ``latency.py`` share. Every client is a process that prints one JSON object as its
last line; the clients get one core and the server another where the system lets us choose. Rounds are
interleaved (A, B, C, A, B, C, ...), so that whatever else the machine does falls on all alike, and a ratio is
the median over rounds of ratios taken within a round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
BASELINE = "bare aiohttp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What every client is asked to do."""

    requests: int
    connections: int = 64
    turns: int = 5
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that makes requests."""

    name: str
    command: Callable[[str, Load], list[str]]
    """From the server's base URL and the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Where clients and server run; None where that can't be chosen."""

    client: tuple[int, ...] | None
    server: tuple[int, ...] | None

    def __str__(self) -> str:
        if self.client is None:
            return "clients and server on any core (this system can't pin processes)"
        if self.client == self.server:
            return f"clients and server on the same core {self.client[0]}: wall-clock figures mean little"
        return f"clients on core {_listed(self.client)}, server on core {_listed(self.server or ())}"


def _listed(cores: Sequence[int]) -> str:
    return ", ".join(map(str, cores))


def cores(clients: int = 1) -> Cores:
    """The last core for the server and the first *clients* for the clients, of those we may use."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores(client=None, server=None)
    ours = sorted(os.sched_getaffinity(0))
    return Cores(client=tuple(ours[:clients]), server=(ours[-1],))


@contextmanager
def started(command: Sequence[str], on: tuple[int, ...] | None) -> Iterator[subprocess.Popen[str]]:
    """A process on the given cores, ended at the end."""

    def pin() -> None:
        if on is not None:
            os.sched_setaffinity(0, on)

    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=pin
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class Server:
    """``fast_server.py`` as a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stats(self, *, reset: bool = False) -> dict[str, Any]:
        """What it served since the last reset."""
        where = self.url.removesuffix("/v1") + "/stats" + ("?reset" if reset else "")
        with urllib.request.urlopen(where, timeout=10) as response:
            found: dict[str, Any] = json.load(response)
        return found


@contextmanager
def server(*options: str, on: tuple[int, ...] | None = None) -> Iterator[Server]:
    """A running server with these options of ``fast_server.py``."""
    with started([sys.executable, str(HERE / "fast_server.py"), *options], on) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            _, said = process.communicate()
            sys.exit(f"the server didn't start: {said}")
        yield Server(url)


def run_client(client: Client, url: str, load: Load, on: tuple[int, ...] | None, at_most_s: float) -> Any:
    """
    What *client* printed last.

    Raises:
        SystemExit: it failed, or was not done in time.
    """
    with started(client.command(url, load), on) as process:
        try:
            said, errors = process.communicate(timeout=at_most_s)
        except subprocess.TimeoutExpired:
            sys.exit(f"{client.name} was not done after {at_most_s:g} s; ask for fewer --requests")
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines or "error" in json.loads(lines[-1]):
        sys.exit(f"{client.name} failed: {lines[-1] if lines else errors[-2000:]}")
    return json.loads(lines[-1])


# The clients --------------------------------------------------------------------------------------------


def _loaded(load: Load) -> list[str]:
    options = ["--requests", str(load.requests), "--connections", str(load.connections)]
    return [*options, "--turns", str(load.turns), *(["--stream"] if load.stream else [])]


def bare() -> Client:
    """The loop that others are compared with."""
    script = str(HERE / "bare_client.py")
    return Client(name=BASELINE, command=lambda url, load: [sys.executable, script, url, *_loaded(load)])


def ours(name: str, *options: str) -> Client:
    """Our engine, with these options of ``replay_client.py``."""
    script = str(HERE / "replay_client.py")
    return Client(
        name=name, command=lambda url, load: [sys.executable, script, url, *_loaded(load), *options]
    )


def locust(program: str) -> Client:
    """Locust's FastHttpUser, by the path of Locust's own program."""

    def command(url: str, load: Load) -> list[str]:
        users = str(load.connections)
        options = ["--headless", "--only-summary", "-u", users, "-r", users]
        options += ["--host", url.removesuffix("/v1")]
        options += ["--requests", str(load.requests), "--turns", str(load.turns)]
        script = str(HERE / "locust_client.py")
        return [program, "-f", script, *options, *(["--streamed"] if load.stream else [])]

    return Client(name="locust FastHttpUser", command=command)


def our_load_is_missing() -> str | None:
    """Why our engine can't play load profiles; None where it can."""
    from replay.scenario.sections import Scenario

    if "load" in Scenario.model_fields:
        return None
    return "scenarios of this version have no section `load`, so what needs it is left out here"


def our_stream_is_missing() -> str | None:
    """Why our engine can't take part in streaming; None where it can."""
    import inspect

    from replay.core.settings.plugins import load

    adapter = load("adapters", "openai", Path())
    if "stream" in inspect.signature(adapter).parameters:
        return None
    return "the openai adapter of this version has no setting `stream`, so our engine is left out here"


# Rounds -------------------------------------------------------------------------------------------------


def rounds(
    clients: Sequence[Client], count: int, once: Callable[[Client], Any], told: Callable[[str], None]
) -> dict[str, list[Any]]:
    """What *once* measured of each client in each round, by name; *told* gets a line for each."""
    measured: dict[str, list[Any]] = {client.name: [] for client in clients}
    for number in range(1, count + 1):
        for client in clients:
            result = once(client)
            measured[client.name].append(result)
            told(
                f"round {number}: {client.name}: {result['requests'] / result['seconds']:,.0f} requests/s, "
                f"{cpu_us(result):.0f} us of CPU each"
            )
    return measured


def cpu_us(result: Mapping[str, Any]) -> float:
    """CPU microseconds for each request, those of worker processes included."""
    return float(1e6 * (result["cpu_s"] + result.get("workers_cpu_s", 0.0)) / result["requests"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A median with the least and the largest of the rounds."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(middle=median(values), least=min(values), most=max(values))

    def shown(self, form: str = ",.0f") -> str:
        return f"{self.middle:{form}} ({self.least:{form}} to {self.most:{form}})"


def ratios(
    measured: Mapping[str, Sequence[Any]], of: Callable[[Any], float], base: str = BASELINE
) -> dict[str, Spread]:
    """Each client's figure over the baseline's of the same round."""
    return {
        name: Spread.of([of(a) / of(b) for a, b in zip(results, measured[base], strict=True)])
        for name, results in measured.items()
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def add_options(parser: argparse.ArgumentParser, *, requests: int) -> None:
    """Options that all comparisons have."""
    parser.add_argument("--requests", type=int, default=requests, help="of each client in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5, help="of each conversation")
    parser.add_argument("--locust", metavar="PROGRAM", help="Locust's program, if it is to take part")
    parser.add_argument("--only", default="", help="clients, with commas between; the bare loop always runs")
    parser.add_argument("--client-cores", type=int, default=1, help="for each client and its workers")
    parser.add_argument("--at-most-s", type=float, default=300.0, help="for one client in one round")


def chosen(clients: Sequence[Client], only: str) -> list[Client]:
    """
    Those of *clients* that *only* names, and the baseline.

    Raises:
        SystemExit: there is no such client.
    """
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    known = [client.name for client in clients]
    for name in wanted:
        if name not in known:
            sys.exit(f'there is no client "{name}" here (there are: {", ".join(known)})')
    return [client for client in clients if not wanted or client.name in [*wanted, BASELINE]]
