"""
How long raters wait for a study's pages while many of them work at once.

    python benchmarks/study_load.py --raters 50 --answers 40
    python benchmarks/study_load.py --raters 50 --answers 40 --think 0

The server is a process of its own, as `replay study serve` starts it, with a rating study of a run that is
played first. Each rater's client opens their link, reads the instructions and then sends one judgement after
the other, with a drawn think time of *think* seconds on average before each, or as fast as it can. A click's
time is from sending a form to having read the page that follows, two requests and one redirect; a look is a
page that is loaded anew. The owner looks now and then. What the server computed for each click doesn't depend
on what else the machine has to do, as waiting does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import sqlite3
import sys
import tempfile
from contextlib import closing, suppress
from html import unescape
from pathlib import Path
from statistics import median
from time import perf_counter

from aiohttp import ClientSession, CookieJar, TCPConnector

from replay.runs.launch import run
from replay.scenario.reading import read_scenario, with_changes
from replay.scenario.shipped import find_scenario


def hidden(html: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that goes to *action*."""
    (form,) = re.findall(rf'<form[^>]*action="[^"]*{action}"(.*?)</form>', html, re.DOTALL)
    found = re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)"', form)
    return {name: unescape(value) for name, value in found}


class Times:
    """What was waited for what, in seconds; and what went wrong."""

    def __init__(self) -> None:
        self.clicks: list[float] = []
        self.looks: list[float] = []
        self.owner: list[float] = []
        self.errors: list[str] = []

    def to_json(self) -> dict[str, object]:
        found: dict[str, object] = {"errors": len(self.errors), "first_errors": self.errors[:3]}
        for name in ("clicks", "looks", "owner"):
            seconds = sorted(getattr(self, name))
            if seconds:
                found[name] = {
                    "n": len(seconds),
                    "median_ms": round(1000 * median(seconds), 1),
                    "p95_ms": round(1000 * seconds[int(0.95 * (len(seconds) - 1))], 1),
                    "p99_ms": round(1000 * seconds[int(0.99 * (len(seconds) - 1))], 1),
                    "max_ms": round(1000 * seconds[-1], 1),
                }
        return found


async def work(link: str, answers: int, think_s: float, drawn: random.Random, times: Times) -> None:
    """One rater, from link to end."""
    address = link.partition("/rate")[0]

    async def got(
        method: str, path: str, into: list[float] | None, form: dict[str, str] | None = None
    ) -> str:
        began = perf_counter()
        async with client.request(method, path, data=form) as response:
            text = await response.text()
        if into is not None:
            into.append(perf_counter() - began)
        if response.status != 200:
            times.errors.append(f"{method} {path.partition('?')[0]}: {response.status}")
        return text

    async with ClientSession(cookie_jar=CookieJar(unsafe=True), connector=TCPConnector(limit=2)) as client:
        html = await got("GET", link, times.looks)
        html = await got("POST", f"{address}/rate/begin", None, hidden(html, "/rate/begin"))
        for _ in range(answers):
            if think_s:
                await asyncio.sleep(drawn.expovariate(1 / think_s))
            form = {**hidden(html, "/rate/answer"), "rating": str(drawn.randrange(2)), "comment": "as it is"}
            html = await got("POST", f"{address}/rate/answer", times.clicks, form)
        html = await got("GET", f"{address}/rate", times.looks)
        if "<h2>Done</h2>" not in html:
            times.errors.append("a rater was not done at the end")


async def look_on(link: str, times: Times, every_s: float) -> None:
    """The study's owner, who looks again and again."""
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
        while True:
            began = perf_counter()
            async with client.get(link) as response:
                await response.text()
            times.owner.append(perf_counter() - began)
            link = link.partition("?")[0]
            await asyncio.sleep(every_s)


def cpu_s(pid: int) -> float:
    """Of a process so far, in seconds; Linux alone tells."""
    with suppress(OSError):
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    return float("nan")


async def measure(raters: int, answers: int, think_s: float, owner_every_s: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="replay-benchmark-") as name:
        folder = Path(name)
        file = with_changes(read_scenario(find_scenario("quickstart")), {"data": {}})
        played = (await asyncio.to_thread(run, file, runs=folder / "runs")).folder
        (folder / "study.yaml").write_text(
            f"name: load\npreset: {{rating: {{answers: {answers}}}}}\nruns: ['{played}']\nraters: {raters}\n"
        )
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "replay", "study", "serve", "study.yaml", "--port", "0"),
            cwd=folder,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            lines = [(await server.stdout.readline()).decode().strip() for _ in range(raters + 1)]
            owner, *links = [line.partition(": ")[2] for line in lines]
            with closing(sqlite3.connect(folder / "study.db")) as connection:
                (tasks,) = connection.execute("SELECT count(*) FROM task").fetchone()
            times, drawn = Times(), random.Random(1)
            began, computed_s = perf_counter(), cpu_s(server.pid)
            looking = asyncio.create_task(look_on(owner, times, owner_every_s))
            async with asyncio.TaskGroup() as group:
                for link in links:
                    group.create_task(work(link, tasks, think_s, random.Random(drawn.random()), times))
            took_s = perf_counter() - began
            looking.cancel()
            with closing(sqlite3.connect(folder / "study.db")) as connection:
                (kept,) = connection.execute("SELECT count(*) FROM judgement").fetchone()
            computed_s = cpu_s(server.pid) - computed_s
        finally:
            with suppress(ProcessLookupError):
                server.terminate()
            await server.wait()
    return {
        "raters": raters,
        "answers_each": tasks,
        "think_s": think_s,
        "took_s": round(took_s, 1),
        "clicks_per_s": round(kept / took_s, 1),
        "server_cpu_ms_per_click": round(1000 * computed_s / max(1, kept), 2),
        "lost_or_doubled": kept - raters * tasks,
        **times.to_json(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--raters", type=int, default=50)
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--think", type=float, default=1.0, help="seconds on average; 0 for none")
    parser.add_argument("--owner-every", type=float, default=5.0, help="seconds between the owner's looks")
    given = parser.parse_args()
    found = asyncio.run(measure(given.raters, given.answers, given.think, given.owner_every))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
