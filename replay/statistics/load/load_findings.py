"""
What a reader of a load run should know before the numbers are believed, in words.

Above all whether the generator itself was too slow: an overloaded one says so instead of reporting a slow
server.

Where a system is saturated, told from throughput and response times alone: it takes no objective.

Throughput is answers complete within a second of a level's window. The point of saturation is the lowest
level whose throughput comes within a fifth (``PLATEAU``) of the highest of all levels, if a level with at
least half as much load again (``FURTHER``) was offered too: that one brought a quarter more at most, half of
what it should have brought. Chance moves the throughput of a hundred answers by about a tenth.

That alone does not accuse the system: whatever holds the load back makes throughput flat. Where it is the
system, the further level's users wait: by Little's law (Little, *A Proof for the Queuing Formula L = λW*,
1961) half as many users more at a quarter more throughput spend at least 1.5 / 1.25 = 1.2 times as long in
the system, and users who arrive regardless queue ever longer. So the median response time has to be
``RISE`` times the point's, or ``REFUSED`` more of the asks have to fail, as with a system that turns load
away. If neither holds, or the generator was late, it is the generator, think times or a limit in the
scenario.

It can't tell more than the levels offer: the true limit lies between the point and the level below it, or
beyond the last level; a level too short for its queue to grow, or with a cold cache, looks better or worse
than it is; and what counts is the median, so that a system whose slowest answers suffer first is saturated,
for those, before this says so. Objectives see that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from replay.core.load_record import GeneratorReport, LatenessSummary
from replay.statistics.load.load_cell import SHARES, Percentiles, asks_needed
from replay.statistics.load.load_level import LevelSummary, busiest, latest, most_lagging

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
    if few := few_answers(total.answered_turns):
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
            f"{label(latest(generators), generators)} was late: asks were sent {duration(late.p50_s)} (p50) "
            f"to {duration(late.p99_s)} (p99) after they were due. It could not offer this load in time, so "
            "latencies understate what users would see, and the figures say more of this machine, or of a "
            "limit on requests, or of sessions to be opened first, than of the system; lower the load, or "
            "use more workers."
        )
    lagging = most_lagging(generators)
    if lagging and lagging.lag and median_s is not None and lagging.lag.p99_s > SHARE * median_s:
        yield (
            f"{label(lagging, generators)}'s event loop lagged by {duration(lagging.lag.p99_s)} (p99), more "
            f"than {SHARE:.0%} of the median latency ({duration(median_s)}); latencies may be too high by as "
            "much."
        )
    busy = busiest(generators)
    if busy and busy.busy is not None and busy.busy > BUSY:
        yield (
            f"{label(busy, generators)} was busy for {min(1.0, busy.busy):.0%} of the time: one process "
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
        f"the worst of the generators was {label(late, level.played.generators)}{at}: it sent "
        f"{duration(late.lateness.p99_s)} late (p99){busy}."
    )


def _lateness(level: LevelSummary) -> Percentiles | LatenessSummary | None:
    """Of the latest of several generators, since those that were in time would hide it."""
    generators = level.played.generators
    late = latest(generators)
    return late.lateness if late and len(generators) > 1 else level.lateness


def _median_s(level: LevelSummary) -> float | None:
    return level.total.latency.p50_s if level.total.latency else None


def label(generator: GeneratorReport | None, generators: Sequence[GeneratorReport]) -> str:
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


FEWEST_LEVELS = 3
FEWEST_TURNS = 100
"""At each of the two levels that are set side by side."""
PLATEAU = 0.8
FURTHER = 1.5
RISE = FURTHER * PLATEAU
REFUSED = 0.05

Finding = Literal["saturated", "growing", "untested", "few-turns", "not-the-system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelComparison:
    """What a level brought."""

    level: str
    value: float
    """Concurrency, or conversations per second."""
    throughput: float
    """Answers per second."""
    response_p50_s: float | None
    error_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """What levels of rising load say of a system's limit."""

    found: Finding
    """
    ``saturated``: at ``at``. ``growing``: the highest level brought most. ``untested``: throughput hardly
    grows beyond ``at``, but no level went far enough. ``few-turns``: at ``at`` or ``beyond``.
    ``not-the-system``: throughput is flat, and neither responses nor failures say why.
    """
    at: LevelComparison
    """The lowest level within a fifth of the highest throughput."""
    is_lowest: bool
    """No lower level was offered, so the limit may be below."""
    beyond: LevelComparison | None
    """The lowest level with half as much load again; None where there is none."""


def saturation(levels: Sequence[LevelSummary]) -> Saturation | None:
    """
    Return where throughput stops growing; None with fewer than ``FEWEST_LEVELS`` complete levels.

    Args:
        levels: In any order; of levels with the same load the one with the largest throughput counts.
    """
    best: dict[float, LevelSummary] = {}
    for level in levels:
        value = level.played.value
        if value is None or level.played.interrupted or level.rates.turns_answered is None:
            continue
        if value not in best or _throughput(level) > _throughput(best[value]):
            best[value] = level
    rising = [best[value] for value in sorted(best)]
    most = max(map(_throughput, rising), default=0.0)
    if len(rising) < FEWEST_LEVELS or not most:
        return None
    at = next(level for level in rising if _throughput(level) >= PLATEAU * most)
    beyond = next((level for level in rising if _value(level) >= FURTHER * _value(at)), None)
    return Saturation(
        found=_finding(at, beyond, rising),
        at=_level_comparison(at),
        is_lowest=at is rising[0],
        beyond=None if beyond is None else _level_comparison(beyond),
    )


def _finding(at: LevelSummary, beyond: LevelSummary | None, rising: Sequence[LevelSummary]) -> Finding:
    if at is rising[-1]:
        return "growing"
    if beyond is None:
        return "untested"
    if min(at.total.answered_turns, beyond.total.turns) < FEWEST_TURNS:
        return "few-turns"
    one, other = _level_comparison(at), _level_comparison(beyond)
    if other.error_share >= one.error_share + REFUSED:
        return "saturated"
    waits = one.response_p50_s and other.response_p50_s and other.response_p50_s >= RISE * one.response_p50_s
    return "saturated" if waits and not is_late(beyond) else "not-the-system"


def _value(level: LevelSummary) -> float:
    return level.played.value or 0.0


def _throughput(level: LevelSummary) -> float:
    return level.rates.turns_answered or 0.0


def _level_comparison(level: LevelSummary) -> LevelComparison:
    response = level.total.response
    return LevelComparison(
        level=level.played.name,
        value=_value(level),
        throughput=_throughput(level),
        response_p50_s=None if response is None else response.p50_s,
        error_share=level.total.error_share or 0.0,
    )
