"""
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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.statistics.load.load_level import LevelSummary
from replay.statistics.load.load_warnings import is_late

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
        at=_compared(at),
        is_lowest=at is rising[0],
        beyond=None if beyond is None else _compared(beyond),
    )


def _finding(at: LevelSummary, beyond: LevelSummary | None, rising: Sequence[LevelSummary]) -> Finding:
    if at is rising[-1]:
        return "growing"
    if beyond is None:
        return "untested"
    if min(at.total.answered, beyond.total.turns) < FEWEST_TURNS:
        return "few-turns"
    one, other = _compared(at), _compared(beyond)
    if other.error_share >= one.error_share + REFUSED:
        return "saturated"
    waits = one.response_p50_s and other.response_p50_s and other.response_p50_s >= RISE * one.response_p50_s
    return "saturated" if waits and not is_late(beyond) else "not-the-system"


def _value(level: LevelSummary) -> float:
    return level.played.value or 0.0


def _throughput(level: LevelSummary) -> float:
    return level.rates.turns_answered or 0.0


def _compared(level: LevelSummary) -> LevelComparison:
    response = level.total.response
    return LevelComparison(
        level=level.played.name,
        value=_value(level),
        throughput=_throughput(level),
        response_p50_s=None if response is None else response.p50_s,
        error_share=level.total.error_share or 0.0,
    )
