"""Cancelled at any await, a run keeps what was answered, holds nothing, and goes on where it stood."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event

import pytest

from replay import ChatReply, Conversation, Run, ToolCall, Turn, resume_async, run_async
from replay.results.run import newest_run
from replay.statistics import score_column
from tests.stepping import Stepper, cancelled_at, held
from tests.waiting import PATIENCE_S, others_first, until_async

TALKS = [
    Conversation(
        id=f"album{n}",
        turns=tuple(
            Turn(id=f"album{n}#{depth}", question=question, gold_answers=(gold,))
            for depth, (question, gold) in enumerate(
                [
                    (f"Who sang song {n}?", "Alice Okafor sang it."),
                    (f"Where was she born, {n}?", "In Port Ellis."),
                ],
                1,
            )
        ),
    )
    for n in range(2)
]


class System:
    """Waits a little with each question; counts those that were asked and those that it came to answer."""

    history = "client"
    calls_a_tool = False

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self.answered: Counter[tuple[str, int]] = Counter()
        self.inside = 0

    async def __aenter__(self) -> System:
        self.inside += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.inside -= 1

    @asynccontextmanager
    async def session(self, conversation):
        self.inside += 1
        try:
            yield self
        finally:
            self.inside -= 1

    async def ask(self, request):
        asked = request.question, len(request.steps)
        self.asked[asked] += 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.answered[asked] += 1
        if self.calls_a_tool and not request.steps:
            return ChatReply(text="", tool_calls=(ToolCall(id="1", name="look_up", arguments="{}"),))
        return ChatReply(text="Yes. Ruth Marlow sang it.")


class Agent(System):
    calls_a_tool = True


def look_up(name: str, arguments: dict) -> str:
    return "found"


made: list[System] = []
"""The newest one last."""


def newest() -> System:
    return made[-1]


KINDS = {
    "drift": {"policies": ["pred"]},
    "rewrite": {"policies": ["rewrite"]},
    "tools": {"tools": {"function": look_up}},
    "repeats": {"play": {"repeats": 2, "concurrency": 2}},
    "cache": {"play": {"cache": "kept"}, "adapter": f"{__name__}:newest"},
    "limit": {"limit": {"asks": 1000, "per_s": 1}},
    "judge": {"judges": [{"correctness": {"adapter": newest, "concurrency": 2}}]},
}
ROOT = Path(__file__).parents[2]
EVERY = 37
"""Of all steps, one in so many is tried without --long."""


def scenario(kind: str) -> dict:
    """What is played of *kind*, with a new system."""
    made.append(Agent() if kind == "tools" else System())
    more = dict(KINDS.get(kind, {}))
    system = {
        "name": "s",
        "adapter": more.pop("adapter", newest()),
        **({"limit": more.pop("limit")} if "limit" in more else {}),
    }
    return {
        "name": "cut",
        "data": TALKS,
        "systems": [system],
        "policies": ["gold"],
        "drift": {"nlp_workers": 0},
        **more,
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_is_cancelled_at_any_await_loses_nothing(tmp_path, monkeypatch, kind, long):
    def begun(name: str) -> tuple[dict, Path]:
        """A scenario, and where to play it: in a folder of its own, where no reply is kept yet."""
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("CONVREPLAY_CACHE", str(folder))
        return scenario(kind), folder

    content, folder = begun("whole")
    with Stepper() as stepper:
        await asyncio.create_task(run_async(content, runs=folder))
    asked_in_all = newest().answered
    # Others for each kind, so that together they are many.
    first, every = (1, 1) if long else (3 * list(KINDS).index(kind) + 1, EVERY)
    for step in range(first, stepper.steps, every):
        await tried(step, *begun(str(step)), asked_in_all)


async def tried(step: int, content: dict, runs: Path, asked_in_all: Counter) -> None:
    """The run of *content* is cancelled at *step* and resumed."""
    system, before, asked = newest(), held(), Counter()
    if not await cancelled_at(
        step, lambda: run_async(content, runs=runs), lambda: asked.update(system.asked)
    ):
        return
    # Each play is told within a turn of the loop, and may have come to its next question by then.
    assert (system.asked - asked).total() <= len(TALKS), f"step {step}: it went on asking"
    assert system.inside == 0, f"step {step}: a session is open"
    assert held() - before == set(), step
    run = await resume_async(newest_run(runs), scenario=content)
    assert run.state().finished, step
    assert not run.turns()["em"].isna().any(), step
    assert system.answered == asked_in_all, f"step {step}: an answer was lost, or asked for twice"
    assert system.asked.total() - system.answered.total() <= len(TALKS), f"step {step}: those under way"


class Waiting:
    """A scorer that counts a run's parts and waits with each; not while it is tried, before any answer."""

    signature, unit, is_mean = "waiting", "", True

    def __init__(self) -> None:
        self.parts, self.may_end = 0, Event()

    def observe(self, records):
        if newest().answered:
            self.parts += 1
            self.may_end.wait(PATIENCE_S)
        return [1.0] * len(records)

    def combine(self, observed):
        return 1.0


async def test_scoring_ends_with_the_part_it_is_at_when_it_is_cancelled(tmp_path, monkeypatch):
    """Then the database is closed, and not under it; the run can be scored at once."""
    monkeypatch.setattr(score_column, "PART", 1)
    scorer = Waiting()
    content = {**scenario("score"), "scorers": [scorer]}
    task = asyncio.create_task(run_async(content, runs=tmp_path))
    await until_async(lambda: scorer.parts)
    task.cancel()
    await others_first()
    assert not task.done()
    scorer.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scorer.parts == 1
    run = await resume_async(newest_run(tmp_path), scenario=content)
    assert run.turns()["Waiting"].tolist() == [1.0] * 4


async def test_a_load_that_is_cancelled_at_any_await_holds_nothing_and_keeps_what_was_answered(
    tmp_path, long
):
    load = {"profile": "closed", "concurrency": 2, "conversations": 4, "warmup_s": 0}

    def content() -> dict:
        return {**scenario("load"), "load": load}

    with Stepper() as stepper:
        await asyncio.create_task(run_async(content(), runs=tmp_path / "whole"))
    for step in range(1, stepper.steps, 1 if long else EVERY):
        runs, before, given = tmp_path / str(step), held(), content()
        if await cancelled_at(step, lambda given=given, runs=runs: run_async(given, runs=runs), lambda: None):
            assert held() - before == set(), step
            assert newest().inside == 0, step
            records = [record for run in runs.glob("*") for record in Run(run).records()]
            answered = Counter((record.asked, 0) for record in records if record.outcome == "answered")
            assert answered == newest().answered, step


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [{"drift": {"nlp_workers": 1}}, {"load": {"conversations": 4, "workers": 2}}]
)
async def test_its_processes_end_with_a_run_that_is_cancelled(tmp_path, more):
    """Those of coreference and those that make a load."""
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": "gold"}}
    data = {"path": str(ROOT / "scenarios/conversations/music.jsonl"), "limit": 2}
    content = {"name": "cut", "data": data, "systems": [system], "policies": ["pred"], **more}
    with Stepper() as stepper:  # loky's own process, which cleans up after crashes, stays once it is there
        await asyncio.create_task(run_async(content, runs=tmp_path / "whole"))
    for step in range(1, stepper.steps, 7):
        runs, before = tmp_path / str(step), held()
        if await cancelled_at(step, lambda runs=runs: run_async(content, runs=runs), lambda: None):
            assert held() - before == set(), step
            if "load" not in more:
                assert (await resume_async(newest_run(runs))).state().finished, step


@pytest.mark.parametrize("ended_by", ["timeout", "sibling"])
async def test_a_deadline_or_a_task_group_around_it_ends_it_with_their_own_error(tmp_path, ended_by):
    content, playing = scenario("drift"), asyncio.Event()

    async def asked_once() -> None:
        await until_async(newest().asked.total)
        playing.set()

    async def fails() -> None:
        await playing.wait()
        raise ZeroDivisionError

    begun = asyncio.create_task(asked_once())

    async def in_time() -> None:
        async with asyncio.timeout(None) as deadline:
            begun.add_done_callback(lambda _: deadline.reschedule(0))
            await run_async(content, runs=tmp_path)

    async def beside() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_async(content, runs=tmp_path))
            tasks.create_task(fails())

    with pytest.raises((TimeoutError, ExceptionGroup)) as failed:
        await (in_time() if ended_by == "timeout" else beside())
    if ended_by == "sibling":
        assert [type(error) for error in failed.value.exceptions] == [ZeroDivisionError]
    run = await resume_async(newest_run(tmp_path), scenario=content)
    assert (run.state().finished, newest().inside) == (True, 0)
