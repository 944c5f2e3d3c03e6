"""Runs whose conversations arrive when the data says that they did."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import InputError
from tests.cli.command import replay_cli
from tests.load.scenes import Server, play, scenario, talk


def timed(name, *seconds):
    found = talk(name, len(seconds))
    for turn, at in zip(found["turns"], seconds, strict=True):
        turn["timestamp"] = f"2026-01-02T03:00:{at:06.3f}Z"
    return found


TALKS = [timed("b", 10.2, 10.5), timed("a", 10.0), timed("c", 10.2, 10.3, 10.4)]


def due(run):
    """When each turn was due since the first one, by policy, conversation and depth."""
    found = {(r.policy, r.conversation, r.depth): r.timing.scheduled_s for r in run.records() if r.timing}
    first = min(found.values())
    return {key: at - first for key, at in found.items()}


async def test_each_conversation_arrives_once_when_it_came_and_speed_makes_it_faster(tmp_path):
    run = await play(tmp_path, {"profile": "recorded", "speed": 4}, talks=TALKS)
    found = due(run)
    first = {name: at for (_, name, depth), at in found.items() if depth == 1}
    assert first == {"a": 0, "b": pytest.approx(0.05), "c": pytest.approx(0.05)}
    assert len(found) == 6


async def test_speed_leaves_think_times_as_they_were(tmp_path):
    """Twice as many users come; they don't think faster."""
    think = {"kind": "recorded", "after": "question"}
    found = due(await play(tmp_path, {"profile": "recorded", "speed": 2, "think": think}, talks=TALKS))
    label = "pred(detect=False)"
    assert found[label, "b", 2] - found[label, "b", 1] == pytest.approx(0.3)


async def test_each_policy_gets_each_conversation_at_that_moment(tmp_path):
    policies = [{"pred": {"detect": False}}, "gold"]
    found = due(await play(tmp_path, {"profile": "recorded", "speed": 4}, talks=TALKS, policies=policies))
    assert {(policy, name): at for (policy, name, depth), at in found.items() if depth == 1} == {
        (policy, name): pytest.approx(at)
        for policy in ("pred(detect=False)", "gold")
        for name, at in (("a", 0), ("b", 0.05), ("c", 0.05))
    }


async def test_without_timestamps_nothing_is_asked(tmp_path):
    server = Server()
    async with server.running() as address:
        with pytest.raises(InputError, match='conversation "x": there is no timestamp of turn 1'):
            await play(tmp_path, {"profile": "recorded"}, address=address, talks=[*TALKS, talk("x", 1)])
    assert server.asked == []


def test_on_the_command_line_speed_alone_means_the_datas_own_arrivals(tmp_path):
    scenario(tmp_path, None, talks=TALKS)
    done = replay_cli("stress", "load.yaml", "--speed", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    load = json.loads(done.stdout)["load"]
    assert (load["load"]["profile"], load["load"]["speed"]) == ("recorded", 2.0)
    assert [(one["played"]["name"], one["total"]["turns"]) for one in load["levels"]] == [("as recorded", 6)]


@pytest.mark.parametrize("arguments", [["--profile", "recorded"], ["--speed", "3"]])
def test_a_scenarios_sweep_and_rate_give_way_to_recorded_arrivals(tmp_path, arguments):
    load = {"profile": "poisson", "sweep": {"levels": [1, 2]}, "duration_s": 30}
    scenario(tmp_path, load, talks=TALKS)
    done = replay_cli("stress", "load.yaml", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Load, recorded: 1 level, 6 turns")


def test_a_scenarios_speed_gives_way_to_a_rate_and_both_at_once_are_refused(tmp_path):
    scenario(tmp_path, {"profile": "recorded", "speed": 3}, talks=TALKS)
    rated = ["stress", "load.yaml", "--rate", "50", "--conversations", "3"]
    assert replay_cli(*rated, cwd=tmp_path).returncode == 0
    done = replay_cli(*rated, "--speed", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert "speed belongs to the profiles trace and recorded" in done.stderr


def test_validate_says_how_long_the_recorded_arrivals_take(tmp_path):
    scenario(tmp_path, {"profile": "recorded", "speed": 0.5}, talks=[*TALKS, timed("d", 59.0)])
    done = replay_cli("validate", "load.yaml", cwd=tmp_path)
    assert "recorded: the data's own arrivals, within 98 s, 1 process" in done.stdout
