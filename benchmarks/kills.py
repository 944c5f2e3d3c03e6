"""
What is left of a run that is killed (SIGKILL) again and again, and resumed each time until it is done.

    python benchmarks/kills.py --kills 100 --conversations 200
    python benchmarks/kills.py --kills 100 --conversations 200 --keeps-history

A server in this process answers from what the question and the whole history before it are, so that a
turn asked after another history than in an undisturbed run would get another answer. It counts every ask
that reaches it. The moment of each kill is drawn evenly from the time that an undisturbed run takes, start
and report included. When a run is done it is compared with an undisturbed one, turn by turn and by its
depth table, and another one begins, until there were as many kills as asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml
from aiohttp import web

from replay.results.run import Run
from replay.store.reader import DATABASE

WORDS = ["harbour", "viola", "aunt", "song", "album", "singer", "garden", "stone", "glass", "port"]
Turn = tuple[str, str, int]
"""Policy, conversation, depth."""


@dataclass(slots=True)
class Figures:
    """What was seen."""

    kills: int = 0
    runs: int = 0
    killed_before_there_was_a_run: int = 0
    killed_while_asking: int = 0
    killed_while_scoring_or_reporting: int = 0
    turns: int = 0
    asks: int = 0
    durable_turns_asked_again: int = 0
    """Client-kept history: of all turns. Server-kept: of conversations that were over."""
    asks_lost_in_flight: int = 0
    """Client-kept history: had reached the server, but their record was not durable yet; asked again."""
    turns_of_lost_sessions: int = 0
    """Server-kept history: durable turns of half-played conversations, which had to begin again; kept."""
    turns_missing_or_twice: int = 0
    turns_unlike_undisturbed: int = 0
    tables_unlike_undisturbed: int = 0
    undisturbed_s: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Server:
    """Counts asks by question; answers by the history."""

    delay_s: float
    asked: Counter[str] = field(default_factory=Counter)
    sessions: dict[str, list[str]] = field(default_factory=dict)
    port: int = 0
    runner: web.AppRunner | None = None

    async def chat(self, request: web.Request) -> web.Response:
        messages = [m["content"] for m in (await request.json())["messages"]]
        self.asked[messages[-1]] += 1
        await asyncio.sleep(self.delay_s)
        message = {"role": "assistant", "content": answer_to(messages)}
        return web.json_response({"choices": [{"message": message}]})

    async def said(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked[body["question"]] += 1
        await asyncio.sleep(self.delay_s)
        said = self.sessions.setdefault(body["session"], [])
        said.append(body["question"])
        said.append(answer_to(said))
        return web.json_response({"answer": said[-1]})

    async def quiet(self) -> None:
        """Until what a killed client had sent has been counted."""
        assert self.runner is not None
        assert self.runner.server is not None
        async with asyncio.timeout(10):
            while self.runner.server.connections:  # noqa: ASYNC110 - aiohttp has no event for it
                await asyncio.sleep(0.002)


def answer_to(messages: list[str]) -> str:
    digest = hashlib.sha256("\n".join(messages).encode()).digest()
    return f"Alice Okafor sang {' '.join(WORDS[byte % len(WORDS)] for byte in digest[:4])}."


@asynccontextmanager
async def served(delay_s: float) -> AsyncIterator[Server]:
    server = Server(delay_s)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_post("/said", server.said)
    server.runner = web.AppRunner(app, access_log=None)
    await server.runner.setup()
    try:
        await web.TCPSite(server.runner, "127.0.0.1", 0).start()
        server.port = server.runner.addresses[0][1]
        yield server
    finally:
        await server.runner.cleanup()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When to kill."""

    after_s: float | None = None
    after_asks: int = 1


@dataclass(slots=True)
class Setting:
    """One scenario, and how it is disturbed."""

    folder: Path
    server: Server
    conversations: int
    turns: int
    policies: tuple[str, ...]
    keeps_history: bool
    nlp_workers: int
    workers: int
    asks_at_most: int | None
    """If given, kills come after so many asks at most, and not after so many seconds."""

    @property
    def expected(self) -> int:
        return self.conversations * self.turns * len(self.policies)

    def write(self) -> None:
        lines = [
            {
                "id": f"talk{n}",
                "title": "Stone Garden (album)",
                "turns": [
                    {"question": question(n, d), "gold_answer": answer_to([str(n), str(d)])}
                    for d in range(1, self.turns + 1)
                ],
            }
            for n in range(self.conversations)
        ]
        (self.folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        url = f"http://127.0.0.1:{self.server.port}"
        openai = {"base_url": f"{url}/v1", "model": "m"}
        body = {"question": "{{question}}", "session": "{{session_id}}"}
        keeper = {"url": f"{url}/said", "body": body, "answer": "answer", "history": "server"}
        system: dict[str, Any] = {"name": "server", "adapter": "openai", "settings": openai}
        if self.keeps_history:
            system |= {"adapter": "http", "settings": keeper}
        scenario = {
            "name": "killed",
            "data": {"path": "talks.jsonl"},
            "systems": [system],
            "policies": list(self.policies),
            "drift": {"nlp_workers": self.nlp_workers},
            "play": {"workers": self.workers},
            "scorers": ["f1", "em"],
        }
        (self.folder / "scenario.yaml").write_text(yaml.safe_dump(scenario))

    def moment(self, rng: random.Random, undisturbed_s: float) -> Moment:
        if self.asks_at_most is not None:
            return Moment(after_asks=rng.randint(1, self.asks_at_most))
        return Moment(after_s=rng.uniform(0, undisturbed_s))

    async def reached(self, moment: Moment) -> None:
        """Until *moment* has come, seen from now."""
        if moment.after_s is not None:
            await asyncio.sleep(moment.after_s)
            return
        until = self.server.asked.total() + moment.after_asks
        while self.server.asked.total() < until:  # noqa: ASYNC110 - the server has other things to do
            await asyncio.sleep(0.001)

    async def session(self, runs: Path, moment: Moment | None) -> bool:
        """Begin the run in *runs* or go on with it; returns whether it came to its end before *moment*."""
        begun = database(runs)
        verb = ["resume", str(begun.parent)] if begun else ["run", "scenario.yaml", "--runs", str(runs)]
        with (self.folder / "stderr.txt").open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "replay", *verb),
                cwd=self.folder,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
            )
            ended = asyncio.create_task(process.wait())
            if moment is not None:
                killing = asyncio.create_task(self.reached(moment))
                await asyncio.wait([ended, killing], return_when=asyncio.FIRST_COMPLETED)
                killing.cancel()
                if not ended.done():
                    with suppress(ProcessLookupError):  # it has just ended by itself
                        process.kill()
                        await ended
                        await self.server.quiet()
                        return False
            await ended
        if process.returncode != 0:
            raise SystemExit(f"{verb[0]} ended with {process.returncode}: {stderr_of(self.folder)}")
        return True


def question(talk: int, depth: int) -> str:
    return f"Who sang song {talk}-{depth}, and where was she born?"


def stderr_of(folder: Path) -> str:
    return (folder / "stderr.txt").read_text()


def database(runs: Path) -> Path | None:
    runs.mkdir(exist_ok=True)
    return next(runs.glob(f"*/{DATABASE}"), None)


def durable(path: Path | None) -> set[Turn]:
    """The turns in the database at *path*, which has to be sound."""
    if path is None:
        return set()
    with closing(sqlite3.connect(path)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise SystemExit(f"{path} is damaged")
        return set(connection.execute("SELECT policy, conversation, depth FROM turn"))


def contents(run: Run) -> dict[Turn, Any]:
    return {(r.policy, r.conversation, r.depth): (r.asked, r.answer, r.edit, r.drift) for r in run.records()}


def table_of(run: Run) -> Any:
    frame = run.depth_table(resamples=100)
    return frame[[name for name in frame.columns if not name.endswith("_s")]]


def count_again(setting: Setting, figures: Figures, before: set[Turn], asked: Counter[str]) -> None:
    """Count what *asked* since a moment when the turns *before* were durable."""
    for n in range(setting.conversations):
        for depth in range(1, setting.turns + 1):
            known = sum((policy, f"talk{n}", depth) in before for policy in setting.policies)
            if setting.keeps_history:  # a half-played conversation begins again
                known = sum((policy, f"talk{n}", setting.turns) in before for policy in setting.policies)
            again = asked[question(n, depth)] - (len(setting.policies) - known)
            figures.durable_turns_asked_again += max(0, again)


async def disturbed_run(
    setting: Setting, figures: Figures, runs: Path, kills: int, rng: random.Random
) -> Run:
    """One run to its end, with at most *kills* kills."""
    before: set[Turn] = set()
    while True:
        asked = Counter(setting.server.asked)
        done = await setting.session(runs, setting.moment(rng, figures.undisturbed_s) if kills > 0 else None)
        count_again(setting, figures, before, setting.server.asked - asked)
        path = database(runs)
        if done:
            assert path is not None
            return Run(path.parent)
        kills -= 1
        figures.kills += 1
        now = durable(path)
        if not setting.keeps_history:
            figures.asks_lost_in_flight += (setting.server.asked - asked).total() - len(now - before)
        if path is None:
            figures.killed_before_there_was_a_run += 1
        elif len(now) < setting.expected:
            figures.killed_while_asking += 1
        else:
            figures.killed_while_scoring_or_reporting += 1
        before = now


async def measure(folder: Path, options: argparse.Namespace) -> Figures:
    rng = random.Random(options.seed)
    figures, began = Figures(), perf_counter()
    policies = ("pred",) if options.keeps_history else ("gold", "pred")
    async with served(options.delay_s) as server:
        setting = Setting(
            folder=folder,
            server=server,
            conversations=options.conversations,
            turns=options.turns,
            policies=policies,
            keeps_history=options.keeps_history,
            nlp_workers=options.nlp_workers,
            workers=options.workers,
            asks_at_most=options.asks_at_most,
        )
        setting.write()
        await setting.session(folder / "undisturbed", None)
        figures.undisturbed_s = perf_counter() - began
        path = database(folder / "undisturbed")
        assert path is not None
        wanted, table = contents(Run(path.parent)), table_of(Run(path.parent))
        assert len(wanted) == setting.expected
        while figures.kills < options.kills:
            runs = folder / f"runs{figures.runs}"
            run = await disturbed_run(setting, figures, runs, options.kills - figures.kills, rng)
            figures.runs += 1
            records = Counter((r.policy, r.conversation, r.depth) for r in run.records())
            figures.turns += setting.expected
            figures.turns_of_lost_sessions += len(run.superseded())
            figures.turns_missing_or_twice += sum(records[turn] != 1 for turn in {*wanted, *records})
            found = contents(run)
            figures.turns_unlike_undisturbed += sum(found.get(turn) != wanted[turn] for turn in wanted)
            figures.tables_unlike_undisturbed += not table_of(run).equals(table)
        figures.asks = server.asked.total() - setting.expected
    figures.seconds = perf_counter() - began
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5, help="of each conversation")
    parser.add_argument("--keeps-history", action="store_true", help="the server keeps the history")
    parser.add_argument("--delay-s", type=float, default=0.01, help="until the server answers")
    parser.add_argument("--asks-at-most", type=int, help="kill by the number of asks instead of by time")
    parser.add_argument("--nlp-workers", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes that play")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asdict(asyncio.run(measure(Path(folder), options)))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):36} {value:,.1f}".removesuffix(".0"))


if __name__ == "__main__":
    main()
