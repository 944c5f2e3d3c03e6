"""
Small scenarios for the tests of a scenario's keys, and which keys have such a test.

A test of a key plays a scenario in which the key matters, and fails if it is ignored: it says with ``key``
which ones those are, and ``tests/laws/test_scenario_keys.py`` holds that against what a scenario may have.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from aiohttp import web

from replay.core.asking import limits
from replay.core.asking.retries import RetryingClient
from replay.play.player import PlayOptions
from replay.results.run import Run
from replay.runs.launch import run_async
from replay.scenario.reading import ScenarioFile, parse_scenario
from tests.adapters.servers import answering, completion
from tests.waiting import PATIENCE_S

T = TypeVar("T", bound=Callable[..., object])

NAMED: set[str] = set()
"""Every key that a test says it is about, as in ``systems.limit.asks``."""


def key(*names: str) -> Callable[[T], T]:
    """Says of a test that it fails if one of these keys is ignored."""
    NAMED.update(names)
    return lambda test: test


def talk(name: str, turns: int = 1, **more: Any) -> dict[str, Any]:
    """A conversation whose questions and answers can be told from all others."""
    asked = [{"question": f"{name} {n}?", "gold_answers": [f"{name} said {n}."]} for n in range(1, turns + 1)]
    return {"id": name, "turns": asked, **more}


def write_talks(folder: Path, talks: Sequence[Mapping[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "talks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in talks), "utf-8")


def scenario(
    folder: Path,
    *,
    talks: Sequence[Mapping[str, Any]] = (talk("a"), talk("b"), talk("c")),
    system: Mapping[str, Any] | None = None,
    **changes: Any,
) -> ScenarioFile:
    """
    *talks*, asked of a system that says the gold answers; *changes* are sections in the place of our own.

    *system* is what its section has beside that.
    """
    write_talks(folder, talks)
    content = {
        "name": "keys",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "s", "adapter": "scripted", **(system or {})}],
        "policies": [{"pred": {"detect": False}}],
        "scorers": ["em"],
        "drift": {"nlp_workers": 0},
        **changes,
    }
    path = folder / "keys.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    return parse_scenario(path.read_text("utf-8"), source=str(path), folder=folder)


async def played(folder: Path, **changes: Any) -> Run:
    """The run of ``scenario(folder, **changes)``."""
    return await in_time(run_async(scenario(folder, **changes), runs=folder / "runs"))


async def in_time(run: Awaitable[Run]) -> Run:
    """A key that is ignored may leave a run waiting for good, and the test has to fail all the same."""
    async with asyncio.timeout(PATIENCE_S):
        return await run


def answers(run: Run) -> list[str | None]:
    return [record.answer for record in run.records()]


def outcomes(run: Run) -> list[str]:
    return [record.outcome for record in run.records()]


def due(run: Run) -> dict[tuple[str, int], float]:
    """When each turn was due, in seconds since the first, by conversation and depth, in that order."""
    found = {(r.conversation, r.depth): r.timing.scheduled_s for r in run.records() if r.timing}
    first = min(found.values())
    return {place: at - first for place, at in sorted(found.items(), key=lambda item: item[1])}


def gaps(moments: Sequence[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(moments)]


def python(folder: Path, code: str) -> dict[str, Any]:
    """A system that is the function ``answer`` of *code*."""
    folder.mkdir(exist_ok=True)
    (folder / "bot.py").write_text(code, "utf-8")
    return {"adapter": "python", "settings": {"target": "bot.py:answer"}}


def crowd(together: int) -> str:
    """Code of a system that answers once *together* are asking, with how many there have been at most."""
    return f"""
import asyncio
inside = most = 0
enough = asyncio.Event()
async def answer(question):
    global inside, most
    inside += 1
    most = max(most, inside)
    if inside == {together}:
        enough.set()
    await enough.wait()
    for _ in range(100):  # whoever else may come in does
        await asyncio.sleep(0)
    inside -= 1
    return "at most " + str(most)
"""


class Pauses(list[float]):
    """The waits before retries, in seconds; nobody waits for them."""

    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """The waits before all retries from now on."""
    found = Pauses()
    for asking in (PlayOptions, RetryingClient):
        monkeypatch.setitem(asking.__init__.__kwdefaults__, "sleep", found.sleep)
    return found


class Throttle:
    """Lets everybody through at once, and counts them."""

    made: list[Throttle]

    def __init__(self, asks: int, per_s: float) -> None:
        self.limit = (asks, per_s)
        self.passed = 0
        self.made.append(self)

    async def take(self) -> None:
        self.passed += 1

    def spend(self) -> None:
        pass


def throttles(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[tuple[int, float], int]]:
    """Gives how many asks each politeness limit of a run let through, by the limit."""
    Throttle.made = []
    monkeypatch.setattr(limits, "LocalTokenBucket", Throttle)
    return lambda: {one.limit: one.passed for one in Throttle.made}


USAGE = {
    "prompt_tokens": 1_000_000,
    "completion_tokens": 100_000,
    "prompt_tokens_details": {"cached_tokens": 400_000},
}
PRICED = [
    ({"prompt_usd": 2, "completion_usd": 10}, 3.0),
    ({"prompt_usd": 4, "completion_usd": 10}, 5.0),
    ({"prompt_usd": 2, "completion_usd": 20}, 4.0),
    ({"prompt_usd": 2, "completion_usd": 10, "cached_prompt_usd": 0.5}, 2.4),
]
"""Prices, and what an answer of ``counting_tokens`` costs."""


@asynccontextmanager
async def counting_tokens() -> AsyncIterator[dict[str, Any]]:
    """A model that says "Yes." and how many tokens that took: adapter and settings."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(completion("Yes.", usage=USAGE))

    async with answering(answer) as address:
        yield {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "small-1"}}
