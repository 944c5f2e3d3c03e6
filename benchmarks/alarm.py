"""
How late a task is woken: ``replay.play.load.alarm`` against the other ways there are.

    python benchmarks/alarm.py
    python benchmarks/alarm.py --rate 500 --seconds 2 --rounds 5 --busy 0 0.6 --loop asyncio uvloop

One task waits for arrivals of a Poisson process, and lateness is when it goes on minus when it was due.
A busy loop is one that spends that share of its time in callbacks of 100 us. CPU is all the processor
time that the process used. Each figure is the median of the rounds, which go through all ways in turn.

- loop: the event loop's own timer (call_at).
- timer: ``Alarm``, one timer of the operating system that the loop watches.
- thread: a helper thread sleeps in a condition and wakes the loop (call_soon_threadsafe).
- spin: the loop's timer 1 ms early, then sleep(0) until it is time.
- sleep: no loop at all, but time.sleep, which shows how late the machine itself is.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import takewhile
from statistics import median
from time import perf_counter

from replay.play.load.alarm import Alarm
from replay.play.load.arrivals import poisson_arrivals

CALLBACK_S = 100e-6
Until = Callable[[float], Awaitable[None]]


@asynccontextmanager
async def loop_timer() -> AsyncIterator[Until]:
    async def until(when: float) -> None:
        if (wait := when - perf_counter()) > 0:
            await asyncio.sleep(wait)

    yield until


@asynccontextmanager
async def os_timer() -> AsyncIterator[Until]:
    async with Alarm() as alarm:
        if not alarm.exact:
            raise SystemExit("this machine has no timerfd; there is nothing to compare")
        yield alarm.until


@asynccontextmanager
async def spinning() -> AsyncIterator[Until]:
    async def until(when: float) -> None:
        if (wait := when - perf_counter() - 0.001) > 0:
            await asyncio.sleep(wait)
        while perf_counter() < when:  # noqa: ASYNC110 (what is to be measured)
            await asyncio.sleep(0)

    yield until


@asynccontextmanager
async def helper_thread() -> AsyncIterator[Until]:
    loop = asyncio.get_running_loop()
    changed = threading.Condition()
    next_one: list[tuple[float, asyncio.Future[None]]] = []
    over = False

    def wake(turn: asyncio.Future[None]) -> None:
        if not turn.done():
            turn.set_result(None)

    def sleep() -> None:
        with changed:
            while not over:
                if not next_one:
                    changed.wait()
                elif (wait := next_one[0][0] - perf_counter()) > 0:
                    changed.wait(wait)
                else:
                    loop.call_soon_threadsafe(wake, next_one.pop()[1])

    async def until(when: float) -> None:
        if when <= perf_counter():
            return
        turn = loop.create_future()
        with changed:
            next_one.append((when, turn))
            changed.notify()
        await turn

    thread = threading.Thread(target=sleep)
    thread.start()
    try:
        yield until
    finally:
        with changed:
            over = True
            changed.notify()
        thread.join()


@asynccontextmanager
async def plain_sleep() -> AsyncIterator[Until]:
    async def until(when: float) -> None:
        if (wait := when - perf_counter()) > 0:
            time.sleep(wait)  # noqa: ASYNC251 (what is to be measured)

    yield until


FACTORIES: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
with suppress(ImportError):
    import uvloop

    FACTORIES["uvloop"] = uvloop.new_event_loop
WAYS = {
    "loop": loop_timer,
    "timer": os_timer,
    "thread": helper_thread,
    "spin": spinning,
    "sleep": plain_sleep,
}


async def keep_busy(share: float) -> None:
    """Again and again eight callbacks of 100 us and a pause, so that *share* of the time is spent in them."""
    began, spent = perf_counter(), 0.0
    while True:
        started = perf_counter()
        for _ in range(8):
            end = perf_counter() + CALLBACK_S
            while perf_counter() < end:
                pass
            await asyncio.sleep(0)
        spent += perf_counter() - started
        await asyncio.sleep(max(0.0, began + spent / share - perf_counter()))


async def figures(way: str, rate: float, seconds: float, busy: float) -> tuple[float, ...]:
    """Lateness p50, p90, p99 and greatest in ms, and CPU in percent."""
    arrivals = takewhile(lambda at: at < seconds, poisson_arrivals(rate, random.Random(7)))
    late = []
    async with WAYS[way]() as until:
        other = asyncio.create_task(keep_busy(busy)) if busy else None
        before = cpu_s()
        start = perf_counter() + 0.05
        for at in arrivals:
            await until(start + at)
            late.append(perf_counter() - start - at)
        cpu = (cpu_s() - before) / (perf_counter() - start + 0.05)
        if other:
            other.cancel()
    late.sort()
    quantiles = [late[int(q * len(late))] for q in (0.5, 0.9, 0.99)]
    return (*(lateness * 1000 for lateness in (*quantiles, late[-1])), cpu * 100)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=500.0, help="arrivals per second")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=float, nargs="+", default=[0.0, 0.6], help="shares of the loop's time")
    parser.add_argument("--loop", nargs="+", choices=tuple(FACTORIES), default=list(FACTORIES))
    parser.add_argument("--way", nargs="+", choices=tuple(WAYS), default=list(WAYS))
    chosen = parser.parse_args()
    clocks = {name: time.get_clock_info(name).implementation for name in ("perf_counter", "monotonic")}
    print(f"perf_counter: {clocks['perf_counter']}, monotonic: {clocks['monotonic']}")
    print(f"{chosen.rate:g} arrivals/s, {chosen.rounds} rounds of {chosen.seconds:g} s; lateness in ms")
    print(f"{'loop':8} {'busy':>5} {'way':7} {'p50':>6} {'p90':>6} {'p99':>6} {'max':>6} {'CPU %':>6}")
    for name in chosen.loop:
        for busy in chosen.busy:
            found: dict[str, list[tuple[float, ...]]] = {
                way: [] for way in chosen.way if not (busy and way == "sleep")
            }
            for _ in range(chosen.rounds):
                for way, rounds in found.items():
                    with asyncio.Runner(loop_factory=FACTORIES[name]) as runner:
                        rounds.append(runner.run(figures(way, chosen.rate, chosen.seconds, busy)))
            for way, rounds in found.items():
                p50, p90, p99, most, cpu = (median(column) for column in zip(*rounds, strict=True))
                print(
                    f"{name:8} {busy:5.0%} {way:7} {p50:6.2f} {p90:6.2f} {p99:6.2f} {most:6.2f} {cpu:6.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
