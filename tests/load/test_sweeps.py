"""Level after level: what each is held against, and what the report says of them."""

from __future__ import annotations

import re

from tests.cli.command import replay_cli
from tests.load.scenes import level_events, play, talk
from tests.scenario.keys import scenario


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


CROWDED = """
import asyncio

room = asyncio.Semaphore(2)

async def answer(question):
    async with room:
        await asyncio.sleep(0.05)
        return question.replace("1?", "said 1.")
"""


def test_the_reports_knee_and_quality_by_depth_at_each_level(tmp_path):
    (tmp_path / "bot.py").write_text(CROWDED)
    system = {"adapter": "python", "settings": {"target": "bot.py:answer"}}
    scenario(tmp_path, talks=[talk(name, 3) for name in "abc"], system=system, scorers=["f1"])
    sweep = ["--levels", "2,24", "--turns", "50", "--duration", "60", "--slo", "latency_p50_s=0.4"]
    done = replay_cli("stress", "keys.yaml", *sweep, "--full", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The highest level that met the goals is concurrency 2; concurrency 24 missed them." in " ".join(
        done.stdout.split()
    )
    for level in (2, 24):
        table = (
            done.stdout.partition(f"By depth at concurrency {level}\n")[2].partition("\n\n")[0].splitlines()
        )
        assert table[0].split()[:6] == ["depth", "turns", "err", "%", "f1", "lat."]
        assert [row.split()[0] for row in table[2:] if row[0] == " "][:2] == ["1", "2"]
    assert "latency p50 at most 0.4 s missed" in done.stderr
    told = " ".join(done.stdout.split())
    assert re.search(r"concurrency 24: latency p50 at most 0\.4 s: missed \(\d\.\d+ s\)", told)
