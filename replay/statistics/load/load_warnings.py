"""
What a reader of a load run should know before the numbers are believed, in words.

Above all whether the generator itself was too slow: an overloaded one says so instead of reporting a slow
server.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.statistics.load.load_level import LevelSummary
from replay.statistics.load.percentiles import SHARES, asks_needed

LATENESS_S = 0.01
SHARE = 0.1
"""Of the median latency: a generator later than this and ``LATENESS_S``, or a loop that lags by more,
disturbs what it measures."""


def level_warnings(level: LevelSummary) -> tuple[str, ...]:
    """Plain sentences about one level."""
    return tuple(_warnings(level))


def _warnings(level: LevelSummary) -> Iterator[str]:
    played, total = level.played, level.total
    if played.stopped:
        yield f"{played.stopped}. The numbers are those of the part that was played."
    elif played.interrupted:
        yield "interrupted: the numbers are those of the part that was played."
    if not total.turns:
        yield (
            "no turn was due in the measured window, so there is nothing to report; play it for longer, or "
            "with less warm-up."
        )
        return
    median_s = total.latency.p50_s if total.latency else None
    yield from _lateness(level)
    if played.lag and median_s is not None and played.lag.p99_s > SHARE * median_s:
        yield (
            f"the generator's event loop lagged by {duration(played.lag.p99_s)} (p99), more than {SHARE:.0%} "
            f"of the median latency ({duration(median_s)}); latencies may be too high by as much."
        )
    if played.delayed:
        arrivals = "1 arrival" if played.delayed == 1 else f"{played.delayed:,} arrivals"
        yield (
            f"{arrivals} had to wait, since as many conversations were open as max_open allows: the load was "
            "lower than offered; response times count from the arrival, latencies don't."
        )
    if played.unclosed:
        sessions = "1 session" if played.unclosed == 1 else f"{played.unclosed:,} sessions"
        yield f"{sessions} may still be open at the system; the first: {played.first_unclosed}."
    if few := few_answers(total.answered):
        yield few
    if total.retried:
        yield (
            f"{_turns(total.retried)} took more than one attempt; latency is that of the last one, response "
            "times hold them all."
        )
    if cut := total.outcomes.get("cut-off", 0):
        yield f"{_turns(cut)} cut off in the middle of the answer; what had come is kept as partial."
    if total.tallied:
        yield (
            f"{_turns(total.tallied)} of {total.turns:,} kept only as counts and histograms (keep_turns): "
            "percentiles are from a histogram, within 0.1 %; lateness, goodput, tokens, scores and the "
            "course over time are of the others only."
        )


def is_late(level: LevelSummary) -> bool:
    """Whether the generator could not offer the level in time."""
    median_s = level.total.latency.p50_s if level.total.latency else 0.0
    return level.lateness is not None and level.lateness.p99_s > max(LATENESS_S, SHARE * median_s)


def _lateness(level: LevelSummary) -> Iterator[str]:
    if (late := level.lateness) is not None and is_late(level):
        yield (
            f"the generator was late: asks were sent {duration(late.p50_s)} (p50) to {duration(late.p99_s)} "
            "(p99) after they were due. It could not offer this load in time, so latencies understate what "
            "users would see, and the figures say more of this machine, or of a limit on requests, or of "
            "sessions to be opened first, than of the system; lower the load, or use more workers."
        )


def few_answers(answered: int) -> str | None:
    """Which percentiles *answered* answers are too few for; None where they are enough, or none."""
    if not 0 < answered < asks_needed(0.99):
        return None
    needs = ", ".join(
        f"p{100 * share:g} {asks_needed(share):,}" for share in SHARES if answered < asks_needed(share)
    )
    return (
        f"{answered:,} answer{'' if answered == 1 else 's'} only; a percentile means something with ten "
        f"answers beyond it, which takes: {needs}."
    )


def duration(duration_s: float) -> str:
    return f"{1000 * duration_s:.3g} ms" if duration_s < 1 else f"{duration_s:.3g} s"


def _turns(count: int) -> str:
    return f"{count:,} turn{'' if count == 1 else 's'}"
