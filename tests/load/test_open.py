"""Runs whose conversations arrive whatever the system does; coordinated omission; think times."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import kstest

from tests.load.scenes import Body, Server, latencies, level_events, play, play_at, reply, responses, talk
from tests.waiting import hold_up

UNLIKELY = 1e-3
ONE_TURN = [talk("a", 1)]


class Stalling(Server):
    """
    Answers at once, but from its tenth ask on nothing at all, for *stall_s* or until the ask number *until*.
    """

    def __init__(self, stall_s: float | None = None, *, until: int | None = None) -> None:
        super().__init__(self._reply_late)
        self._stall_s = stall_s
        self._until = until
        self._awake: asyncio.Event | None = None
        self.held: list[Body] = []

    async def _reply_late(self, body: Body, writer: asyncio.StreamWriter) -> None:
        if len(self.asked) == 10:
            self._awake = asyncio.Event()
            if self._stall_s is not None:
                asyncio.get_running_loop().call_later(self._stall_s, self._awake.set)
        if self._awake is not None and not self._awake.is_set():
            self.held.append(body)
            if len(self.asked) == self._until:
                self._awake.set()
            await self._awake.wait()
        await reply(body, writer)


async def test_while_the_system_stalls_conversations_pile_up(tmp_path):
    server = Stalling(until=60)
    load = {"profile": "constant", "rate": 100, "duration_s": 0.8}
    run = await play_at(server, tmp_path, load, talks=ONE_TURN)
    assert len(server.asked) == 80
    assert server.most >= 51
    due = sorted(record.timing.scheduled_s for record in run.records() if record.timing)
    assert np.diff(due) == pytest.approx(0.01, abs=1e-6), "nobody waits for anybody"


async def test_a_closed_loop_would_have_hidden_the_stall(tmp_path):
    """Coordinated omission: the stalled user asks nothing, so one ask is slow and ninety never were."""
    loads = {
        "closed": ({"concurrency": 1, "turns": 100}, Stalling(0.3)),
        "open": ({"profile": "constant", "rate": 100, "conversations": 100}, Stalling(until=60)),
    }
    held, slow = {}, {}
    for name, (load, server) in loads.items():
        folder = tmp_path / name
        folder.mkdir()
        run = await play_at(server, folder, load, talks=ONE_TURN)
        held[name] = len(server.held)
        slow[name] = sum(seconds > 0.1 for seconds in responses(run))
        assert len(server.asked) == 100
    assert held == {"closed": 1, "open": 51}
    assert slow["open"] >= 40


async def test_after_question_a_late_turn_shows_in_its_response_time_alone(tmp_path):
    server = Stalling(0.4)
    load = {
        "profile": "constant",
        "rate": 50,
        "conversations": 10,
        "think": {"kind": "fixed", "seconds": 0.05, "after": "question"},
    }
    run = await play_at(server, tmp_path, load, talks=[talk("a", 4)])
    timings = [record.timing for record in run.records() if record.timing]
    late = [t for t in timings if t.lateness_s > 0.1]
    assert late
    assert all(t.response_s == pytest.approx(t.latency_s + t.lateness_s) for t in timings)
    assert max(t.response_s for t in late) > 0.25
    by_talk = {}
    for record in run.records():
        by_talk.setdefault(record.conversation, []).append(record.timing.scheduled_s)
    for moments in by_talk.values():
        assert np.diff(moments) == pytest.approx(0.05, abs=1e-6), "the beat is kept"


async def test_max_open_holds_arrivals_back_and_the_report_says_so(tmp_path):
    server = Stalling(0.5)
    load = {"profile": "constant", "rate": 100, "conversations": 60, "max_open": 20}
    run = await play_at(server, tmp_path, load, talks=ONE_TURN)
    assert server.most <= 20
    (level,) = level_events(run)
    assert 10 < level["delayed"] <= 40
    waited = [response - latency for response, latency in zip(responses(run), latencies(run), strict=True)]
    assert max(waited) > 0.15
    (level,) = run.load_summary(resamples=0).levels
    assert any("arrivals had to wait" in warning for warning in level.warnings)


async def test_poisson_arrivals_follow_their_law_in_the_runs_database(tmp_path):
    load = {"profile": "poisson", "rate": 400, "conversations": 400}
    run = await play(tmp_path, load, talks=ONE_TURN)
    due = sorted(record.timing.scheduled_s for record in run.records() if record.timing)
    assert kstest(np.diff(due), "expon", args=(0, 1 / 400)).pvalue > UNLIKELY


async def test_how_late_the_generator_was_is_recorded(tmp_path):
    """The loop is kept busy for a while; what was due meanwhile is sent late and known to be."""

    async def busy(body: Body, writer: asyncio.StreamWriter) -> None:
        if len(server.asked) == 10:
            hold_up(0.2)  # the generator lives on the same loop
        await reply(body, writer)

    server = Server(busy)
    load = {"profile": "constant", "rate": 100, "conversations": 40}
    run = await play_at(server, tmp_path, load, talks=ONE_TURN)
    late = [record.timing.lateness_s for record in run.records() if record.timing]
    assert min(late) >= 0
    assert max(late) > 0.1
    (level,) = run.load_summary(resamples=0).levels
    assert any("the generator was late" in warning for warning in level.warnings)


async def test_think_times_are_as_asked_for(tmp_path):
    """From question to question: exponential by Kolmogorov and Smirnov."""
    load = {
        "concurrency": 40,
        "conversations": 40,
        "think": {"kind": "exponential", "mean_s": 0.02, "after": "question"},
    }
    run = await play(tmp_path, load, talks=[talk("a", 11)])
    gaps = []
    for before, after in pairwise(run.records()):
        if before.conversation == after.conversation:
            gaps.append(after.timing.scheduled_s - before.timing.scheduled_s)
    assert len(gaps) == 400
    assert min(gaps) >= 0
    assert kstest(gaps, "expon", args=(0, 0.02)).pvalue > UNLIKELY


async def test_recorded_think_times_come_from_the_data(tmp_path):
    one = talk("a", 3, metadata={"timestamps": [0, 10, 40]})
    think = {"kind": "recorded", "scale": 0.01, "after": "question"}
    load = {"concurrency": 1, "conversations": 1, "think": think}
    run = await play(tmp_path, load, talks=[one])
    first, second, third = [record.timing for record in run.records() if record.timing]
    assert second.scheduled_s - first.scheduled_s == pytest.approx(0.1)
    assert third.scheduled_s - second.scheduled_s == pytest.approx(0.3)
