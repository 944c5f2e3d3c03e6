"""
How late the loop is while systems are asked, by clocks that tests set.

The garbage collector is quiet while asks are timed, and afterwards as it was.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

import pytest

from replay.core.adapter import ChatReply, ChatRequest, WireTimes
from replay.core.load_record import LagSummary
from replay.play import event_loop
from replay.play.event_loop import LAG_INTERVAL_S, InFlightRequests, LoopLag
from replay.play.gc_pause import THRESHOLDS, gc_paused
from tests.waiting import others_first

LONG_S = 3600.0


async def sampled(
    monkeypatch: pytest.MonkeyPatch, lags: Iterable[float], *, asked_s: float | None = LONG_S
) -> tuple[LoopLag, list[float]]:
    """
    The lag after timers that were late by *lags*, and the intervals that were waited.

    A system with a wire has been asked for *asked_s* at each of them; None where it isn't being asked.
    """
    late, waited, now = iter(lags), [], [100.0]
    done = asyncio.Event()
    asks = Asks(asked_s)

    async def sleep(interval: float) -> None:
        waited.append(interval)
        lag = next(late, None)
        if lag is None:
            done.set()
            await asyncio.Event().wait()
        else:
            now[0] += interval + lag

    async with LoopLag(asks) as lag:
        monkeypatch.setattr(event_loop.asyncio, "sleep", sleep)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0], raising=False)
        await done.wait()
        monkeypatch.undo()
    return lag, waited


class Asks(InFlightRequests):
    def __init__(self, asked_s: float | None) -> None:
        super().__init__()
        self.timed.add("s")
        self._asked_s = asked_s

    def in_the_last(self, seconds: float) -> Iterator[tuple[str, float]]:
        if self._asked_s is not None:
            yield "s", min(seconds, self._asked_s)


def summary_of(lag: LoopLag) -> LagSummary:
    (summary,) = lag.summaries().values()
    return summary


@pytest.mark.parametrize("lags", [(), (0.1, 0.2)])
async def test_without_a_sample_everything_is_0(monkeypatch, lags):
    """However late the loop is where nobody is asked."""
    lag, _ = await sampled(monkeypatch, lags, asked_s=None)

    assert summary_of(lag) == LagSummary(samples=0, p50_s=0.0, p99_s=0.0, max_s=0.0)


async def test_quantiles_are_of_what_was_late(monkeypatch):
    lag, waited = await sampled(monkeypatch, [n / 1000 for n in range(200)])
    summary = summary_of(lag)

    assert waited == [0.02] * 201
    assert summary.samples == 200
    assert summary.p50_s == pytest.approx(0.100)
    assert summary.p99_s == pytest.approx(0.198)
    assert summary.max_s == pytest.approx(0.199)


async def test_of_a_lag_that_began_before_the_ask_only_the_rest_counts(monkeypatch):
    lag, _ = await sampled(monkeypatch, [0.5, 0.001], asked_s=0.002)

    assert summary_of(lag).max_s == pytest.approx(0.002)
    assert summary_of(lag).p50_s == pytest.approx(0.002)


async def test_a_timer_that_comes_early_is_not_late(monkeypatch):
    lag, _ = await sampled(monkeypatch, [-0.001, -0.002])

    assert summary_of(lag) == LagSummary(samples=2, p50_s=0.0, p99_s=0.0, max_s=0.0)


async def test_a_long_run_keeps_every_second_lag_and_samples_half_as_often(monkeypatch):
    """The largest stays known even where it is dropped."""
    monkeypatch.setattr(event_loop, "LAGS_KEPT", 4)
    lag, waited = await sampled(monkeypatch, [0.1, 0.9, 0.2, 0.3, 0.4, 0.5, 0.6])

    assert waited == [LAG_INTERVAL_S] * 4 + [2 * LAG_INTERVAL_S] * 2 + [4 * LAG_INTERVAL_S] * 2
    assert summary_of(lag).samples == 3  # 0.1 and 0.2; 0.4 and 0.5 fill it, of which 0.1 and 0.4 stay; 0.6
    assert summary_of(lag).max_s == pytest.approx(0.9)


class Slow:
    """A session whose reply comes when it is let go, timed at a wire or not."""

    def __init__(self, times: WireTimes | None = None) -> None:
        self.go = asyncio.Event()
        self.times = times

    async def ask(self, request: ChatRequest) -> ChatReply:
        await self.go.wait()
        return ChatReply(text="Yes.", times=self.times)


async def test_asks_are_known_from_their_beginning_to_their_end_however_that_comes():
    now = [10.0]
    asks = InFlightRequests(clock=lambda: now[0])
    request = ChatRequest(question="Who?", history=(), depth=1)
    first, second, other = Slow(WireTimes(sent=0.0, done=1.0)), Slow(), Slow()
    tasks = []
    for name, session in (("a", first), ("a", second), ("b", other)):
        tasks.append(asyncio.create_task(asks.watch(name, session).ask(request)))
        await others_first()
        now[0] += 1.0
    assert dict(asks.in_the_last(60.0)) == {"a": 3.0, "b": 1.0}
    assert dict(asks.in_the_last(2.0)) == {"a": 2.0, "b": 1.0}
    assert dict(asks.in_the_last(0.0)) == {"a": 0.0, "b": 0.0}

    first.go.set()
    assert (await tasks[0]).text == "Yes."
    tasks[1].cancel()
    await asyncio.gather(*tasks[:2], return_exceptions=True)
    now[0] += 2.0
    # One is over for 2 s, after 3 s without a pause; the other goes on.
    assert dict(asks.in_the_last(3.0)) == {"a": 1.0, "b": 3.0}
    assert dict(asks.in_the_last(2.0)) == {"b": 2.0}
    other.go.set()
    await tasks[2]
    assert asks.timed == {"a"}


async def test_an_ask_whose_reply_came_while_the_loop_was_held_up_was_in_the_way_of_the_lag():
    """It is over when the lag is noticed."""
    now = [10.0]
    asks = InFlightRequests(clock=lambda: now[0])
    asks.of("a").begin()
    now[0] += 0.3
    asks.of("a").end()
    now[0] += 0.001

    assert dict(asks.in_the_last(0.25)) == {"a": pytest.approx(0.249)}
    asks.of("a").begin()
    now[0] += 0.002
    assert dict(asks.in_the_last(0.25)) == {"a": pytest.approx(0.247 + 0.002)}


@pytest.mark.usefixtures("nothing_frozen")
def test_what_was_there_is_not_looked_at_until_the_block_ends():
    gc.set_threshold(701, 11, 12)
    with gc_paused():
        assert gc.get_freeze_count() > 1000
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == (701, 11, 12)


@pytest.mark.usefixtures("nothing_frozen")
def test_it_is_as_before_after_a_failure_too():
    gc.set_threshold(701, 11, 12)
    with pytest.raises(ZeroDivisionError), gc_paused():
        raise ZeroDivisionError
    assert gc.get_threshold() == (701, 11, 12)
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("nothing_frozen")
def test_a_program_that_froze_objects_itself_keeps_its_way():
    gc.set_threshold(701, 11, 12)
    gc.freeze()
    frozen = pytest.approx(gc.get_freeze_count(), rel=0.01)  # other threads let go of some, as xdist's does
    with gc_paused():
        assert gc.get_threshold() == (701, 11, 12)
        assert gc.get_freeze_count() == frozen
    assert gc.get_freeze_count() == frozen


@pytest.mark.usefixtures("nothing_frozen")
def test_one_block_in_another_changes_nothing():
    gc.set_threshold(701, 11, 12)
    with gc_paused():
        with gc_paused():
            pass
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == (701, 11, 12)


@pytest.mark.usefixtures("nothing_frozen")
def test_of_blocks_side_by_side_the_last_one_changes_it_back():
    gc.set_threshold(701, 11, 12)
    with ExitStack() as second:
        with gc_paused():
            second.enter_context(gc_paused())
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (701, 11, 12)
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("nothing_frozen")
def test_new_garbage_is_still_collected():
    class Knot:
        pass

    with gc_paused():
        before = len(gc.get_objects())
        for _ in range(3 * THRESHOLDS[0]):
            knot = Knot()
            knot.itself = knot
        assert len(gc.get_objects()) < before + 2 * THRESHOLDS[0]
