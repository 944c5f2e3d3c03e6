"""
The numbers of a load run: level by level and depth by depth, over time, and where the system's limit is.

Everything is about the asks that were due in a level's measured window, whenever they were sent or done.
Latency counts from sent, response from due: a system that stalls keeps the asks behind it from being sent,
so its latencies look fine, and only the response times show what users waited (coordinated omission: Tene,
*How NOT to Measure Latency*, 2013). Percentiles are those of answers; asks that failed are counted as errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from replay.core.load_record import LevelPlayed
from replay.statistics.estimate import Estimate, estimate_cells, resampling
from replay.statistics.group import Group
from replay.statistics.load.asks import OUTSIDE, Asks, ConversationOrder, TimeSeries, time_series
from replay.statistics.load.load_cell import (
    Cell,
    CellScores,
    KeptDurations,
    LoadCell,
    LoadTally,
    load_cell,
    percentiles,
)
from replay.statistics.load.load_findings import Saturation, level_warnings, saturation
from replay.statistics.load.load_level import (
    ErrorKind,
    GroupLoad,
    LevelSummary,
    generator_lateness,
    goodput,
    rates,
    tokens_from,
)
from replay.statistics.score_column import ScoreColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftShare:
    """Of one system under one policy."""

    system: str
    policy: str
    turns: int
    """In all."""
    sample: int
    """Turns that were looked at; those of them that could not be judged are the estimate's ``unscored``."""
    invalid: Estimate
    """The share of those judged that no longer mean the same, in [0, 1]."""


def drift_shares(
    conversations: Sequence[str],
    groups: Sequence[Group],
    column: ScoreColumn,
    *,
    turns: dict[Group, int],
    resamples: int,
    seed: int,
) -> tuple[DriftShare, ...]:
    """
    Return the share of each of *groups*, in the order of *turns*, which says how many turns each has.

    *conversations*, *groups* and *column* go together, a turn each: its conversation in the data, and 1 where
    it drifted, 0 where it did not.
    """
    cells: dict[Group, list[int]] = {group: [] for group in turns}
    for place, group in enumerate(groups):
        cells[group].append(place)
    drawn = resampling(conversations, resamples=resamples, seed=seed)
    estimates, _ = estimate_cells(column, list(cells.values()), drawn)
    return tuple(
        DriftShare(
            system=group.system,
            policy=group.policy,
            turns=turns[group],
            sample=len(cells[group]),
            invalid=estimate,
        )
        for group, estimate in zip(cells, estimates, strict=True)
    )


FirstErrors = Mapping[tuple[int, str], tuple[float, str | None]]
"""By level and outcome: when the first ask that failed so was due, and what was said of it."""
Scoring = Callable[[Sequence[Cell], Sequence[int | None]], CellScores]
"""The score of each cell, and how much less it is than that of the cell named beside it."""

CellKey = tuple[int, int, int | None]
"""Level, group and depth; None for all depths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Where the system's limit is, as far as it was looked for."""

    level: str | None
    """The highest level that met its goals with none below it that missed; None when the lowest missed."""
    value: float | None
    missed: str | None
    """The lowest level that missed; None when none did, and the limit is beyond what was offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSummary:
    """A load run in numbers."""

    load: Mapping[str, Any]
    """The scenario's section."""
    levels: tuple[LevelSummary, ...]
    """From the lowest up, in whatever order they were played; ``played.index`` tells that order."""
    knee: Knee | None
    """None without goals."""
    saturation: Saturation | None
    """What throughput and response times say; None with fewer than three levels."""
    series: TimeSeries | None
    outside: int
    """Asks of no level, since the run ended before the level was over."""
    skipped: int
    """Turns that the ``filter`` policy did not ask."""
    score_units: Mapping[str, str]
    """The unit of each score; ``share`` is read in per cent."""
    resamples: int
    seed: int
    drift: tuple[DriftShare, ...] = ()
    """Of policies whose questions are looked at after the load."""

    @property
    def turns(self) -> int:
        """Asked in all, warm-up included."""
        return self.outside + sum(level.warm_up_turns + level.total.turns for level in self.levels)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return plain


def load_summary(
    asks: Asks,
    levels: Sequence[LevelPlayed],
    *,
    load: Mapping[str, Any],
    tallies: Sequence[LoadTally] = (),
    limits_s: Mapping[str, float] | None = None,
    first_errors: FirstErrors | None = None,
    scorings: Mapping[str, Scoring] | None = None,
    score_units: Mapping[str, str] | None = None,
    skipped: int = 0,
    resamples: int = 0,
    seed: int = 0,
    drift: tuple[DriftShare, ...] = (),
) -> LoadSummary:
    """
    Return the summary of *asks*, whose ``level`` is the position of one of *levels*.

    *limits_s* are the goals that each ask can be held against, by measure. *resamples* and *seed* are those
    that *scorings* use, and are only reported.
    """
    cells = _cells(asks, len(levels), tallies)
    scores = _scores(cells, levels, scorings or {})

    def cell(chosen: Cell, *key: int | None) -> LoadCell:
        """Of a level, of a group in it, or of one depth of that."""
        return load_cell(
            asks,
            chosen,
            tallies=[t for t in tallies if _is_within((t.level, t.group, t.depth), key)],
            gaps=[counts for at, counts in asks.gaps.items() if _is_within(at, key)],
            **scores.get(key, {}),
        )

    summaries = []
    turns = ConversationOrder(asks)
    for position, level in enumerate(levels):
        of_level = np.flatnonzero(asks.level == position)
        chosen = of_level[asks.measured[of_level]]
        total = cell(chosen, position, None, None)
        groups = []
        for number, group in enumerate(asks.groups):
            depths = {key[2]: cell(one, *key) for key, one in cells.items() if key[:2] == (position, number)}
            if depths:
                whole = depths.pop(None)
                by_depth = {depth: one for depth, one in depths.items() if depth is not None}
                groups.append(GroupLoad(group=group, total=whole, depths=by_depth))
        summary = LevelSummary(
            played=level,
            warm_up_turns=len(of_level) - len(chosen),
            rates=rates(
                asks, level, chosen, turns.last, [tally for tally in tallies if tally.level == position]
            ),
            tokens_from=tokens_from(asks, chosen),
            total=total,
            groups=tuple(groups),
            goodput=goodput(asks, chosen, limits_s, level),
            errors=_errors(total, position, first_errors or {}),
            lateness=percentiles(KeptDurations(generator_lateness(asks, chosen, turns.before_done_s, level))),
        )
        summaries.append(replace(summary, warnings=level_warnings(summary)))
    return LoadSummary(
        load=load,
        levels=tuple(sorted(summaries, key=lambda one: one.played.value or 0.0)),
        knee=_knee(levels),
        saturation=saturation(summaries),
        series=time_series(asks),
        outside=int((asks.level == OUTSIDE).sum()),
        skipped=skipped,
        score_units=dict(score_units or {}),
        resamples=resamples,
        seed=seed,
        drift=drift,
    )


def _cells(asks: Asks, levels: int, tallies: Sequence[LoadTally]) -> dict[CellKey, Cell]:
    """Return the measured asks of each level and group, and of each depth of it."""
    found: dict[CellKey, Cell] = {}
    for position in range(levels):
        chosen = np.flatnonzero((asks.level == position) & asks.measured)
        for number in range(len(asks.groups)):
            of_group = chosen[asks.group[chosen] == number]
            tallied = {t.depth for t in tallies if (t.level, t.group) == (position, number)}
            if len(of_group) or tallied:
                found[position, number, None] = of_group
            for depth in sorted({*np.unique(asks.depth[of_group]).tolist(), *tallied}):
                found[position, number, depth] = of_group[asks.depth[of_group] == depth]
    return found


def _is_within(one: tuple[int, int, int], key: Sequence[int | None]) -> bool:
    return all(wanted is None or at == wanted for at, wanted in zip(one, key, strict=True))


def _scores(
    cells: Mapping[CellKey, Cell], levels: Sequence[LevelPlayed], scorings: Mapping[str, Scoring]
) -> dict[Sequence[int | None], dict[str, dict[str, Estimate]]]:
    """``scores`` and ``score_drops`` of each cell; the latter against the lowest level's same cell."""
    if not scorings or not cells:
        return {}
    places = {key: place for place, key in enumerate(cells)}
    # The lowest, played first of several alike.
    lowest = min(range(len(levels)), key=lambda position: levels[position].value or 0.0)
    firsts = [None if key[0] == lowest else places.get((lowest, *key[1:])) for key in cells]
    found = {name: scoring(list(cells.values()), firsts) for name, scoring in scorings.items()}
    return {
        key: {
            "scores": {name: one.estimates[place] for name, one in found.items()},
            "score_drops": {
                name: drop for name, one in found.items() if (drop := one.drops[place]) is not None
            },
        }
        for key, place in places.items()
    }


def _errors(total: LoadCell, position: int, first_errors: FirstErrors) -> tuple[ErrorKind, ...]:
    found = []
    for outcome, turns in total.outcomes.items():
        if outcome != "answered":
            first_s, message = first_errors.get((position, outcome), (None, None))
            found.append(ErrorKind(outcome=outcome, turns=turns, first_s=first_s, first_message=message))
    return tuple(found)


def _knee(levels: Sequence[LevelPlayed]) -> Knee | None:
    """A level played several times counts as met once it is, as in a search that asks for confirmation."""
    met: dict[float, bool] = {}
    names = {}
    for level in levels:
        if level.value is not None and level.met is not None:
            met[level.value] = met.get(level.value, False) or level.met
            names[level.value] = level.name
    if not met:
        return None
    missed = min((value for value, kept in met.items() if not kept), default=None)
    below = [value for value, kept in met.items() if kept and (missed is None or value < missed)]
    highest = max(below, default=None)
    return Knee(
        level=None if highest is None else names[highest],
        value=highest,
        missed=None if missed is None else names[missed],
    )
