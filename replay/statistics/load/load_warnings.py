"""
What a reader of a load run should know before the numbers are believed, in words.

Above all whether the generator itself was too slow: an overloaded one says so instead of reporting a slow
server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.statistics.load.load_level import (
    GeneratorStats,
    LatenessStats,
    LevelSummary,
    busiest,
    latest,
    most_lagging,
)
from replay.statistics.load.percentiles import SHARES, Percentiles, asks_needed

LATENESS_S = 0.01
SHARE = 0.1
"""Of the median latency: a generator later than this and ``LATENESS_S``, or a loop that lags by more,
disturbs what it measures."""
BUSY = 0.9
"""Of the time: a generator that has less left than a tenth of a core is the limit itself, or soon will be."""


def level_warnings(level: LevelSummary) -> tuple[str, ...]:
    """Return plain sentences about one level."""
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
    yield from _of_generators(level)
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
    """Return whether a generator could not offer its share of the level in time."""
    late = _lateness(level)
    return late is not None and late.p99_s > max(LATENESS_S, SHARE * (_median_s(level) or 0.0))


def _of_generators(level: LevelSummary) -> Iterator[str]:
    """Each by the worst of them, which spoils the numbers of all."""
    generators, median_s = level.played.generators, _median_s(level)
    if (late := _lateness(level)) is not None and is_late(level):
        yield (
            f"{named(latest(generators), generators)} was late: asks were sent {duration(late.p50_s)} (p50) "
            f"to {duration(late.p99_s)} (p99) after they were due. It could not offer this load in time, so "
            "latencies understate what users would see, and the figures say more of this machine, or of a "
            "limit on requests, or of sessions to be opened first, than of the system; lower the load, or "
            "use more workers."
        )
    lagging = most_lagging(generators)
    if lagging and lagging.lag and median_s is not None and lagging.lag.p99_s > SHARE * median_s:
        yield (
            f"{named(lagging, generators)}'s event loop lagged by {duration(lagging.lag.p99_s)} (p99), more "
            f"than {SHARE:.0%} of the median latency ({duration(median_s)}); latencies may be too high by as "
            "much."
        )
    busy = busiest(generators)
    if busy and busy.busy is not None and busy.busy > BUSY:
        yield (
            f"{named(busy, generators)} was busy for {min(1.0, busy.busy):.0%} of the time: one process "
            "can't do much more, so that the limit may be its own and not the system's; use more workers."
        )


def worst_generator(levels: Sequence[LevelSummary]) -> str | None:
    """Return a sentence on the latest of several generators; None for one, or if nothing is known."""
    found = [(one, level) for level in levels if (one := latest(level.played.generators)) is not None]
    late = latest([one for one, _ in found])
    if late is None or late.lateness is None:
        return None
    level = next(level for one, level in found if one is late)
    if len(level.played.generators) < 2:
        return None
    busy = "" if late.busy is None else f" and was busy for {min(1.0, late.busy):.0%} of the time"
    at = "" if len(levels) == 1 else f" at {level.played.name}"
    return (
        f"the worst of the generators was {named(late, level.played.generators)}{at}: it sent "
        f"{duration(late.lateness.p99_s)} late (p99){busy}."
    )


def _lateness(level: LevelSummary) -> Percentiles | LatenessStats | None:
    """Of the latest of several generators, since those that were in time would hide it."""
    generators = level.played.generators
    late = latest(generators)
    return late.lateness if late and len(generators) > 1 else level.lateness


def _median_s(level: LevelSummary) -> float | None:
    return level.total.latency.p50_s if level.total.latency else None


def named(generator: GeneratorStats | None, generators: Sequence[GeneratorStats]) -> str:
    """Return the words for *generator* in a message, with its number and host if there are several."""
    if generator is None or len(generators) < 2:
        return "the generator"
    return f"generator {generator.number + 1} of {len(generators)} ({generator.host})"


def few_answers(answered: int) -> str | None:
    """Return a warning that *answered* answers are too few for some percentiles; None if enough, or 0."""
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
