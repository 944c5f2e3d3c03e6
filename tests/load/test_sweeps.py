"""Level after level, against a server that refuses whom it has no place for."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copyfile

import pytest
import pytest_asyncio

from replay.scenario.shipped import shipped_folder
from tests.adapters.servers import http
from tests.load.processes import replaying, serving
from tests.load.scenes import Body, Server, level_events, play, reply, talk
from tests.waiting import takes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts a server with signals")

CAPACITY = 4
KEEPS_UP = {"errors": 0}
"""As many users as the server has places for never meet a refusal, and one more does: however fast it is."""


@pytest_asyncio.fixture
async def full() -> AsyncIterator[str]:
    async def answer(body: Body, writer: asyncio.StreamWriter) -> None:
        if server.inside > CAPACITY:
            writer.write(http(b"{}", status="503 Service Unavailable"))
            await writer.drain()
        else:
            await takes(0.02)
            await reply(body, writer)

    server = Server(answer)
    async with server.running() as address:
        yield address


async def sweep(folder, address, levels, *, slo=None, **load):
    load = {"sweep": levels, "duration_s": 60, "turns": 24, "slo": KEEPS_UP if slo is None else slo, **load}
    run = await play(folder, load, address=address, talks=[talk("a", 1)])
    summary = run.load_summary(resamples=0)
    return run, summary


async def test_steps_stop_after_the_first_level_that_misses(tmp_path, full):
    run, summary = await sweep(tmp_path, full, {"levels": [2, 4, 12, 24]})
    assert [(event["value"], event["met"]) for event in level_events(run)] == [
        (2, True),
        (4, True),
        (12, False),
    ]
    assert (summary.knee.level, summary.knee.missed) == ("concurrency 4", "concurrency 12")


async def test_steps_go_on_where_that_is_asked_for_or_have_no_objectives(tmp_path, full):
    for name, more in (("go_on", {"go_on": True}), ("none", {})):
        folder = tmp_path / name
        folder.mkdir()
        slo = KEEPS_UP if more else {}
        run, summary = await sweep(folder, full, {"levels": [2, 12, 16], **more}, slo=slo)
        assert [event["value"] for event in level_events(run)] == [2, 12, 16]
        assert [level.played.met for level in summary.levels] == (
            [True, False, False] if more else [None] * 3
        )


async def test_a_search_finds_the_capacity(tmp_path, full):
    levels = {"low": 1, "high": 64, "resolution": 0.4}
    run, summary = await sweep(tmp_path, full, levels)
    found = {event["value"]: event["met"] for event in level_events(run)}
    knee = max(value for value, met in found.items() if met)
    assert knee == CAPACITY
    assert summary.knee.level == f"concurrency {knee:g}"
    assert len(found) <= 8
    assert all(float(value).is_integer() for value in found)


async def test_a_miss_is_confirmed_as_often_as_asked(tmp_path, full):
    run, _ = await sweep(tmp_path, full, {"levels": [16, 32], "confirm": 2})
    assert [(event["value"], event["met"]) for event in level_events(run)] == [(16, False), (16, False)]


async def test_every_kind_of_objective_is_judged(tmp_path):
    """Scores are compared with the lowest level's; here the system says less the more are waiting."""
    (tmp_path / "worse.py").write_text(
        "import asyncio\n"
        "inside = 0\n"
        "async def answer(question):\n"
        "    global inside\n"
        "    inside += 1\n"
        "    await asyncio.sleep(0.01)\n"
        "    said = 'a said 1.' if inside < 4 else 'busy'\n"
        "    inside -= 1\n"
        "    return said\n"
    )
    slo = {"latency_p99_s": 60, "errors": 0, "em_min": 0.5, "f1_drop": 0.3, "response_p90_s": 60}
    run = await play(
        tmp_path,
        {"sweep": {"levels": [1, 12]}, "duration_s": 60, "turns": 24, "slo": slo},
        talks=[talk("a", 1)],
        scorers=["em", "f1"],
        systems=[{"name": "s", "adapter": "python", "settings": {"target": "worse.py:answer"}}],
    )
    first, second = [{goal["key"]: goal for goal in event["goals"]} for event in level_events(run)]
    assert all(goal["met"] for goal in first.values())
    assert first["f1_drop"]["value"] == 0
    assert first["em_min"]["value"] == 1
    assert {key for key, goal in second.items() if not goal["met"]} == {"em_min", "f1_drop"}
    assert second["f1_drop"]["value"] > 0.5
    assert second["errors"]["value"] == 0


async def test_what_was_not_measured_is_not_met(tmp_path):
    load = {"concurrency": 1, "turns": 4, "slo": {"ttft_p95_s": 5}}
    run = await play(tmp_path, load)
    (level,) = level_events(run)
    assert level["met"] is False
    assert level["goals"][0]["value"] is None


async def swept(folder: Path, delay_s: float, *arguments: str) -> tuple[int, str, str]:
    """A sweep from the command line, against ``replay serve extractive`` that takes two at a time."""
    copyfile(shipped_folder() / "conversations" / "museum.jsonl", folder / "museum.jsonl")
    async with serving("extractive", "--delay", str(delay_s), "--capacity", "2", folder=folder) as address:
        (folder / "sweep.yaml").write_text(
            "name: sweep\ndata: {path: museum.jsonl}\npolicies: [{pred: {detect: false}}]\n"
            "drift: {nlp_workers: 0}\nscorers: [f1]\n"
            f"systems: [{{name: s, adapter: openai, settings: {{base_url: {address}/v1, model: m, "
            "system: '{{ passage }}'}}]\n"
        )
        async with replaying("stress", "sweep.yaml", *arguments, folder=folder) as command:
            return await command.ended()


async def test_the_reports_knee_and_quality_by_depth_at_each_level(tmp_path):
    code, out, err = await swept(
        tmp_path,
        0.05,
        "--levels",
        "2,24",
        "--turns",
        "50",
        "--duration",
        "60",
        "--slo",
        "latency_p50_s=0.4",
        "--full",
    )
    assert code == 0, err
    assert "The highest level that met the goals is concurrency 2; concurrency 24 missed them." in out
    for level in (2, 24):
        table = out.partition(f"By depth at concurrency {level}\n")[2].partition("\n\n")[0].splitlines()
        assert table[0].split()[:6] == ["depth", "turns", "err", "%", "f1", "lat."]
        assert [row.split()[0] for row in table[2:] if row[0] == " "][:2] == ["1", "2"]
    assert "latency p50 at most 0.4 s missed" in err
    told = " ".join(out.split())
    assert re.search(r"concurrency 24: latency p50 at most 0\.4 s: missed \(\d\.\d+ s\)", told)


@pytest.mark.long
async def test_without_objectives_the_point_of_saturation_is_named_on_one_screen(tmp_path):
    """
    Two at a time of 20 ms each: four users wait for each other, eight the more so.

    A level takes a second or two. Where a busy machine takes a part of that away, throughput still grows from
    four to eight, and that is what has to be said.
    """
    code, out, err = await swept(tmp_path, 0.02, "--levels", "1,4,8", "--turns", "110", "--duration", "30")
    assert code == 0, err
    told = " ".join(out.split())
    done = [float(row) for row in re.findall(r"concurrency \d 110 [\d.]+ ([\d.]+)", told)]
    if done[1] >= 0.81 * max(done) and "event loop lagged" not in told:
        assert re.search(r"Saturated at concurrency 4: [0-9.]+ answers/s\. concurrency 8, 2 times", told), (
            told
        )
    elif done[1] <= 0.79 * max(done):
        assert "Not saturated up to concurrency 8: throughput still grew." in told
    assert "goals" not in out
    assert "By depth" not in out
    assert len(out.splitlines()) <= 30
