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

from replay.statistics.load.asks import OUTSIDE, Asks, ConversationOrder
from replay.statistics.load.load_cell import GrowingHistogram, LoadCell, Tally, load_cell
from replay.statistics.load.load_level import (
    ErrorKind,
    GroupLoad,
    LevelPlayed,
    LevelSummary,
    generator_lateness,
    goodput,
    rates,
    tokens_from,
)
from replay.statistics.load.load_scores import Cell, CellScores
from replay.statistics.load.load_warnings import level_warnings
from replay.statistics.load.percentiles import percentiles
from replay.statistics.load.time_series import TimeSeries, time_series

FirstErrors = Mapping[tuple[int, str], tuple[float, str | None]]
"""By level and outcome: when the first ask that failed so was due, and what was said of it."""
Scoring = Callable[[Sequence[Cell], Sequence[int | None]], CellScores]
"""The score of each cell, and how much less it is than that of the cell named beside it."""


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
    knee: Knee | None
    """None without goals."""
    series: TimeSeries | None
    outside: int
    """Asks of no level, since the run ended before the level was over."""
    skipped: int
    """Turns that the ``filter`` policy did not ask."""
    score_units: Mapping[str, str]
    """The unit of each score; ``share`` is read in per cent."""
    resamples: int
    seed: int

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
    histogram: Callable[[], GrowingHistogram],
    tallies: Sequence[Tally] = (),
    limits_s: Mapping[str, float] | None = None,
    first_errors: FirstErrors | None = None,
    scorings: Mapping[str, Scoring] | None = None,
    score_units: Mapping[str, str] | None = None,
    skipped: int = 0,
    resamples: int = 0,
    seed: int = 0,
) -> LoadSummary:
    """
    The summary of *asks*, whose ``level`` is the position of one of *levels*.

    *histogram* makes an empty one, for cells some of whose asks are only in *tallies*; *limits_s* are the
    goals that each ask can be held against, by measure. *resamples* and *seed* are those that *scorings*
    use, and are only reported.
    """
    summaries = []
    cells: list[tuple[Cell, int, int, int | None]] = []
    turns = ConversationOrder(asks)
    for position, level in enumerate(levels):
        of_level = np.flatnonzero(asks.level == position)
        chosen = of_level[asks.measured[of_level]]
        own = [tally for tally in tallies if tally.level == position]
        total = load_cell(
            asks,
            chosen,
            tallies=own,
            gaps=[counts for (at, _, _), counts in asks.gaps.items() if at == position],
            histogram=histogram,
        )
        groups = []
        for number, group in enumerate(asks.groups):
            of_group = chosen[asks.group[chosen] == number]
            tallied = [tally for tally in own if tally.group == number]
            if not len(of_group) and not tallied:
                continue
            cells.append((of_group, position, number, None))
            by_depth = {}
            for depth in sorted({*np.unique(asks.depth[of_group]).tolist(), *(t.depth for t in tallied)}):
                of_depth = of_group[asks.depth[of_group] == depth]
                cells.append((of_depth, position, number, depth))
                by_depth[depth] = load_cell(
                    asks,
                    of_depth,
                    tallies=[tally for tally in tallied if tally.depth == depth],
                    gaps=[asks.gaps.get((position, number, depth), {})],
                    histogram=histogram,
                )
            of_all = load_cell(
                asks,
                of_group,
                tallies=tallied,
                gaps=[
                    counts for (at, who, _), counts in asks.gaps.items() if (at, who) == (position, number)
                ],
                histogram=histogram,
            )
            groups.append(GroupLoad(group=group, total=of_all, depths=by_depth))
        summary = LevelSummary(
            played=level,
            warm_up_turns=len(of_level) - len(chosen),
            rates=rates(asks, level, chosen, turns.last, own),
            tokens_from=tokens_from(asks, chosen),
            total=total,
            groups=tuple(groups),
            goodput=goodput(asks, chosen, limits_s, level),
            errors=_errors(total, position, first_errors or {}),
            lateness=percentiles(generator_lateness(asks, chosen, turns.before_done_s, level)),
        )
        summaries.append(replace(summary, warnings=level_warnings(summary)))
    return LoadSummary(
        load=load,
        levels=tuple(_with_scores(summaries, cells, scorings or {}, asks)),
        knee=_knee(levels),
        series=time_series(asks),
        outside=int((asks.level == OUTSIDE).sum()),
        skipped=skipped,
        score_units=dict(score_units or {}),
        resamples=resamples,
        seed=seed,
    )


def _errors(total: LoadCell, position: int, first_errors: FirstErrors) -> tuple[ErrorKind, ...]:
    found = []
    for outcome, turns in total.outcomes.items():
        if outcome != "answered":
            first_s, message = first_errors.get((position, outcome), (None, None))
            found.append(ErrorKind(outcome=outcome, turns=turns, first_s=first_s, first_message=message))
    return tuple(found)


def _with_scores(
    summaries: Sequence[LevelSummary],
    cells: Sequence[tuple[Cell, int, int, int | None]],
    scorings: Mapping[str, Scoring],
    asks: Asks,
) -> list[LevelSummary]:
    """Each cell with its scores, and those compared with the first level that has the same cell's group."""
    if not scorings or not cells:
        return list(summaries)
    place = {(position, number, depth): at for at, (_, position, number, depth) in enumerate(cells)}
    lowest = _lowest(summaries)
    firsts = [
        None if position == lowest else place.get((lowest, number, depth))
        for _, position, number, depth in cells
    ]
    chosen = [cell for cell, *_ in cells]
    found = {name: scoring(chosen, firsts) for name, scoring in scorings.items()}

    def scored(cell: LoadCell, at: int) -> LoadCell:
        drops = {name: drop for name, one in found.items() if (drop := one.drops[at]) is not None}
        return replace(
            cell, scores={name: one.estimates[at] for name, one in found.items()}, score_drops=drops
        )

    numbers = {group: number for number, group in enumerate(asks.groups)}
    whole = []
    for position, summary in enumerate(summaries):
        groups = tuple(
            replace(
                group,
                total=scored(group.total, place[position, numbers[group.group], None]),
                depths={
                    depth: scored(cell, place[position, numbers[group.group], depth])
                    for depth, cell in group.depths.items()
                },
            )
            for group in summary.groups
        )
        whole.append(replace(summary, groups=groups))
    return whole


def _lowest(summaries: Sequence[LevelSummary]) -> int:
    """The position of the level that quality is compared with: the lowest, played first of several alike."""
    values = [(s.played.value if s.played.value is not None else 0.0, at) for at, s in enumerate(summaries)]
    return min(values)[1]


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
