"""
``load``: each key played where it matters.

When a turn is due follows from the scenario alone, so due times are compared to the last digit; how long
anything took is never asked.
"""

from __future__ import annotations

import math
import os
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from replay.play.load.section import think_rng
from replay.results.run import Run
from tests.data_tables import from_table
from tests.load.scenes import level_events
from tests.scenario.keys import answers, crowd, due, gaps, key, played, python, talk, throttles

close = partial(pytest.approx, abs=1e-6)
"""Of moments: their last digits say how long the machine has been up."""
RATE = 1000
OPEN = {"profile": "constant", "rate": RATE}
ABC = [talk(name) for name in "abc"]


async def under(folder: Path, load: dict[str, Any], **more: Any) -> Run:
    return await played(folder, load=load, **more)


def drawn(run: Run) -> list[str]:
    """The data's conversations in the order in which they began."""
    return [name.partition("~")[0] for name, depth in due(run) if depth == 1]


@key("load.profile", "load.rate")
async def test_conversations_arrive_at_the_rate_by_the_profile(tmp_path):
    for rate in (500, 1000):
        load = {"profile": "constant", "rate": rate, "conversations": 5}
        run = await under(tmp_path / f"constant{rate}", load)
        assert gaps([*due(run).values()]) == close([1 / rate] * 4)
        run = await under(tmp_path / f"poisson{rate}", {**load, "profile": "poisson"}, seed=3)
        rng = random.Random("3|arrivals|0")
        assert gaps([*due(run).values()]) == close([rng.expovariate(rate) for _ in range(5)][1:])


@key("load.profile", "load.concurrency")
@pytest.mark.parametrize("users", [1, 3])
async def test_so_many_users_come_again_and_again(tmp_path, users):
    load = {"profile": "closed", "concurrency": users, "conversations": 6}
    run = await under(tmp_path, load, system=python(tmp_path, crowd(users)))
    assert set(answers(run)) == {f"at most {users}"}
    assert [event["name"] for event in level_events(run)] == [f"concurrency {users}"]


@key("load.profile", "load.trace", "load.speed")
@pytest.mark.parametrize("speed", [1, 4])
async def test_conversations_arrive_as_a_file_says_so_many_times_as_fast(tmp_path, speed):
    (tmp_path / "trace.csv").write_text("at_s,conversation\n100,b\n100.02,a\n100.03,b\n")
    run = await under(tmp_path, {"profile": "trace", "trace": "trace.csv", "speed": speed})
    expected = {("b", 1): 0, ("a", 1): 0.02 / speed, ("b~2", 1): 0.03 / speed}
    assert due(run) == {place: close(at) for place, at in expected.items()}


@key("systems.limit.asks", "systems.limit.per_s")
@pytest.mark.parametrize("load", [{"concurrency": 2}, OPEN])
async def test_under_load_too_every_ask_passes_the_systems_limit(tmp_path, monkeypatch, load):
    passed = throttles(monkeypatch)
    limit = {"asks": 3, "per_s": 0.25}
    run = await under(tmp_path, {**load, "conversations": 5}, system={"limit": limit})
    assert len(run.records()) == 5
    assert passed() == {(3, 0.25): 5}


@key("load.max_open")
@pytest.mark.parametrize(("most", "delayed"), [(1, 3), (2, 2), (4, 0)])
async def test_no_more_conversations_are_open_than_may_be(tmp_path, most, delayed):
    """Nobody is answered before the last one that may has come; all are due at nearly the same moment."""
    load = {"profile": "constant", "rate": 1e6, "conversations": 4, "max_open": most}
    run = await under(tmp_path, load, system=python(tmp_path, crowd(most)))
    assert set(answers(run)) == {f"at most {most}"}
    assert [event["delayed"] for event in level_events(run)] == [delayed]


SIGMA = 0.4
THINKING = {
    "fixed": ({"kind": "fixed", "seconds": 0.002}, lambda rng: 0.002),
    "fixed, longer": ({"kind": "fixed", "seconds": 0.003}, lambda rng: 0.003),
    "exponential": ({"kind": "exponential", "mean_s": 0.002}, lambda rng: rng.expovariate(500)),
    "exponential, longer": ({"kind": "exponential", "mean_s": 0.004}, lambda rng: rng.expovariate(250)),
    "lognormal by median": (
        {"kind": "lognormal", "median_s": 0.002, "sigma": SIGMA},
        lambda rng: rng.lognormvariate(math.log(0.002), SIGMA),
    ),
    "lognormal by mean": (
        {"kind": "lognormal", "mean_s": 0.003, "sigma": 2 * SIGMA},
        lambda rng: rng.lognormvariate(math.log(0.003) - 2 * SIGMA**2, 2 * SIGMA),
    ),
}


@key("load.think.kind", "load.think.seconds", "load.think.mean_s", "load.think.median_s", "load.think.sigma")
@pytest.mark.parametrize(("think", "drawn_from"), THINKING.values(), ids=THINKING)
async def test_users_think_as_long_as_is_said(tmp_path, think, drawn_from):
    load = {**OPEN, "conversations": 1, "think": {**think, "after": "question"}}
    run = await under(tmp_path, load, talks=[talk("a", 4)], seed=5)
    rng = think_rng(5, 0)
    assert gaps([*due(run).values()]) == close([drawn_from(rng) for _ in range(3)])


@key("load.think.kind", "load.think.scale", "load.think.max_s")
@from_table
async def test_recorded_think_times_are_scaled_and_cut(tmp_path, think, found):
    talks = [talk("a", 3, metadata={"timestamps": [0, 10, 40]})]
    load = {**OPEN, "conversations": 1, "think": {"kind": "recorded", "after": "question", **think}}
    assert gaps([*due(await under(tmp_path, load, talks=talks)).values()]) == close(found)


@key("load.think.after")
async def test_users_think_from_the_question_or_from_the_answer_on(tmp_path):
    found = {}
    for after in ("question", "answer"):
        load = {**OPEN, "conversations": 1, "think": {"kind": "fixed", "seconds": 0.01, "after": after}}
        system = {"settings": {"delay_s": 0.05}}
        run = await under(tmp_path / after, load, talks=[talk("a", 2)], system=system)
        found[after] = due(run)["a", 2]
    assert found["question"] == close(0.01)
    assert found["answer"] >= 0.06


@key("load.order")
async def test_conversations_are_drawn_in_the_order_asked_for(tmp_path):
    found = {
        order: drawn(await under(tmp_path / order, {**OPEN, "conversations": 9, "order": order}, seed=2))
        for order in ("sequential", "shuffle", "sample")
    }
    assert found["sequential"] == [*"abc"] * 3
    assert found["shuffle"] == [
        name for n in range(3) for name in random.Random(f"2|draw|{n}").sample("abc", 3)
    ]
    rng = random.Random("2|draw")
    assert found["sample"] == ["abc"[rng.randrange(3)] for _ in range(9)]


@key("load.ramp_s")
async def test_the_load_rises_within_the_ramp(tmp_path):
    run = await under(tmp_path, {**OPEN, "conversations": 4, "ramp_s": 0.02})
    assert [*due(run).values()] == close([math.sqrt(2 * 0.02 * n / RATE) for n in range(4)])


@key("load.warmup_s", "load.duration_s")
async def test_what_is_measured_begins_after_the_warm_up_and_lasts_as_long_as_is_said(tmp_path):
    run = await under(tmp_path, {**OPEN, "warmup_s": 0.0405, "duration_s": 0.4})
    moments = due(run).values()
    assert max(moments) < 0.4405
    summary = run.load_summary(resamples=0)
    assert summary is not None
    warm_up = sum(at < 0.0405 for at in moments)
    assert summary.levels[0].warm_up_turns == warm_up == 41
    assert summary.levels[0].total.turns == len(moments) - warm_up > 0


@key("load.conversations", "load.turns")
@pytest.mark.parametrize(("bound", "turns"), [({"conversations": 4}, 8), ({"turns": 5}, 5)])
async def test_so_many_conversations_are_begun_or_turns_asked(tmp_path, bound, turns):
    run = await under(tmp_path, {"concurrency": 2, **bound}, talks=[talk("a", 2)])
    assert len(run.records()) == turns


CROWDED = """
import asyncio
inside = 0
async def answer(question):
    global inside
    inside += 1
    for _ in range(100):  # whoever else is to come does
        await asyncio.sleep(0)
    crowd = inside
    inside -= 1
    return "a said 1." if crowd < 6 else "busy"
"""


async def sweep(folder: Path, levels: dict[str, Any], **slo: Any) -> list[tuple[float, bool | None]]:
    """The levels that were played against a system that can take five users, and whether they met *slo*."""
    # All users of a level ask at once when it begins, so that the first of a dozen turns decide.
    load = {"sweep": levels, "duration_s": 20, "turns": 12, **({"slo": slo} if slo else {})}
    run = await under(folder, load, talks=[talk("a")], system=python(folder, CROWDED))
    return [(event["value"], event["met"]) for event in level_events(run)]


@key("load.sweep.levels", "load.sweep.go_on", "load.slo")
async def test_levels_are_played_until_one_misses_its_objectives(tmp_path):
    levels = [1, 9, 12]
    assert await sweep(tmp_path / "1", {"levels": levels}) == [(1, None), (9, None), (12, None)]
    assert await sweep(tmp_path / "2", {"levels": levels}, em_min=0.9) == [(1, True), (9, False)]
    gone_on = [(1, True), (9, False), (12, False)]
    assert await sweep(tmp_path / "3", {"levels": levels, "go_on": True}, em_min=0.9) == gone_on


@key("load.sweep.low", "load.sweep.high", "load.sweep.resolution")
@from_table
async def test_a_search_goes_from_bound_to_bound_until_it_is_fine_enough(tmp_path, bounds, played_levels):
    assert await sweep(tmp_path, bounds, em_min=0.9) == played_levels


@key("load.sweep.confirm")
async def test_a_miss_is_confirmed(tmp_path):
    levels = {"levels": [9, 12], "confirm": 3}
    assert await sweep(tmp_path, levels, em_min=0.9) == [(9, False)] * 3


@key("load.slo")
async def test_objectives_are_held_against_what_was_measured(tmp_path):
    load = {"concurrency": 1, "conversations": 3, "slo": {"em_min": 0.9, "errors": 0}}
    run = await under(tmp_path, load, system={"settings": {"answers": ["a said 1."]}})
    (event,) = level_events(run)
    assert {goal["key"]: goal["met"] for goal in event["goals"]} == {"em_min": False, "errors": True}


@key("load.workers")
async def test_so_many_processes_ask(tmp_path):
    code = "import os\ndef answer(question):\n    return str(os.getpid())\n"
    load = {"concurrency": 2, "conversations": 6, "workers": 2}
    found = set(answers(await under(tmp_path, load, system=python(tmp_path, code))))
    assert len(found) == 2
    assert str(os.getpid()) not in found


@key("load.keep_turns")
async def test_later_turns_are_counted_only(tmp_path):
    run = await under(tmp_path, {"concurrency": 1, "conversations": 5, "keep_turns": 2})
    assert len(run.records()) == 2
    summary = run.load_summary(resamples=0)
    assert summary is not None
    assert (summary.levels[0].total.turns, summary.levels[0].total.tallied) == (5, 3)
