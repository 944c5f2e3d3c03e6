"""
What several plays of each conversation say: how often a turn passes each time, how far the plays lie apart.

Intervals resample recorded conversations with all their turns and plays, the same as the depth table's: k
plays of ten conversations are ten witnesses. The standard deviation between plays says what the same
conversations would give if they were asked again. For pass^k and pass@k see ``pass_curves.py``.

How far runs of the same scenario lie apart.

An interval over conversations says what other conversations might have given; it knows nothing of what
the same system would answer if it were asked again. That is seen by playing the scenario several times:
the standard deviation between the runs' numbers, with n - 1 in the denominator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.depth_table import DepthRow, DepthTable
from replay.statistics.estimate import Estimate, Sampling, resampling
from replay.statistics.group import Group, group_json, group_of, groups_in_order
from replay.statistics.pass_curves import PassCurve, of_cases, outcomes, pass_curves, says_yes_or_no
from replay.statistics.score_column import ScoreColumn

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRow:
    """One number of each run."""

    group: Group
    score: str
    percent: bool
    depth: int | None
    """None for all depths together."""
    values: tuple[float | None, ...]
    """In the order of the runs; None where a run has no such number."""
    turns: tuple[int, ...]
    """Scored turns of each run; where they differ, the runs were not scored on the same turns."""

    @property
    def known_values(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    @property
    def mean(self) -> float | None:
        """Over the runs; None if none has a value."""
        return mean(self.known_values) if self.known_values else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation between runs; None for fewer than two values."""
        return stdev(self.known_values) if len(self.known_values) > 1 else None

    @property
    def least(self) -> float | None:
        """The smallest value."""
        return min(self.known_values, default=None)

    @property
    def most(self) -> float | None:
        """The largest."""
        return max(self.known_values, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **msgspec.to_builtins(self.group),
            "score": self.score,
            "depth": self.depth,
            "values": list(self.values),
            "turns": list(self.turns),
            "mean": self.mean,
            "deviation": self.deviation,
            "least": self.least,
            "most": self.most,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAnswers:
    """How many turns were answered alike in every run."""

    group: Group
    turns: int
    """Turns that every run has an answer to."""
    same: int
    """Those of them with the same text in all runs."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return group_json(self)


def run_spread(tables: Sequence[DepthTable], *, by_depth: bool = False) -> list[SpreadRow]:
    """Return a row for each group, score and depth in all *tables*, the row of all depths last."""
    found = []
    for group in groups_in_order(group.group for group in tables[0].groups):
        rows = [_rows(table, group) for table in tables]
        if any(one is None for one in rows):
            continue
        by_run = [{row.depth: row for row in one or ()} for one in rows]
        depths = [depth for depth in by_run[0] if depth is None or by_depth]
        for score, column in tables[0].columns.items():
            if not all(score in table.columns for table in tables):
                continue
            for depth in depths:
                estimates = [run[depth].scores[score] if depth in run else None for run in by_run]
                found.append(
                    SpreadRow(
                        group=group,
                        score=score,
                        percent=column.percent,
                        depth=depth,
                        values=tuple(e.value if e else None for e in estimates),
                        turns=tuple(e.scored if e else 0 for e in estimates),
                    )
                )
    return found


def same_answers(runs: Sequence[Sequence[TurnRecord]]) -> list[SameAnswers]:
    """Return how often all *runs* gave the same answer, for each group of the first one."""
    by_run = [
        {(r.system, r.policy, r.conversation, r.depth): r.answer for r in records if r.answer is not None}
        for records in runs
    ]
    found = []
    for group in groups_in_order(Group(system, policy) for system, policy, _, _ in by_run[0]):
        answers = [
            [run[key] for run in by_run]
            for key in by_run[0]
            if key[:2] == (group.system, group.policy) and all(key in run for run in by_run)
        ]
        same = sum(len(set(texts)) == 1 for texts in answers)
        found.append(SameAnswers(group=group, turns=len(answers), same=same))
    return found


def _rows(table: DepthTable, group: Group) -> Sequence[DepthRow] | None:
    return next((one.rows for one in table.groups if one.group == group), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatNumbers:
    """What the repeats of a run say."""

    times: int
    """Plays of each conversation that were to be made."""
    curves: tuple[PassCurve, ...]
    """Of each score that is 0 or 1: by depth, of all turns, of whole conversations."""
    spread: tuple[SpreadRow, ...]
    """Each score in each repeat: by depth, then all depths together."""
    same: tuple[SameAnswers, ...] = ()
    """How many turns got the same answer in every repeat."""
    seeds: tuple[int, ...] = ()
    """What the repeats' asks sent, in order; empty where they sent none."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "times": self.times,
            "seeds": list(self.seeds),
            "pass": [curve.to_json() for curve in self.curves],
            "spread": [row.to_json() for row in self.spread],
            "same_answers": [one.to_json() for one in self.same],
        }

    def to_frame(self) -> pd.DataFrame:
        """
        Return a data frame with a row for each system, policy, score, depth and k.

        The depth is missing for all turns together and, where ``whole_conversation`` is true, for whole
        conversations. ``cases`` counts those with k plays or more; intervals are ``pass_all_low`` and so on.
        """
        import pandas as pd

        rows = [
            {
                **msgspec.to_builtins(curve.group),
                "score": curve.score,
                "depth": curve.depth,
                "whole_conversation": curve.whole,
                "k": k,
                "cases": every.scored,
                **_estimate_cells("pass_all", every),
                **_estimate_cells("pass_any", some),
            }
            for curve in self.curves
            for k, (every, some) in enumerate(zip(curve.passes_all, curve.passes_any, strict=True), 1)
        ]
        parts = [f"{name}{end}" for name in ("pass_all", "pass_any") for end in ("", "_low", "_high")]
        names = ("system", "policy", "score", "depth", "whole_conversation", "k", "cases")
        frame = pd.DataFrame(rows, columns=[*names, *parts])
        kinds = {"depth": "Int64", "k": "Int64", "cases": "Int64", "whole_conversation": "bool"}
        return frame.astype({**kinds, **dict.fromkeys(parts, "float64")})


def _estimate_cells(name: str, one: Estimate) -> dict[str, float | None]:
    return {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}


def repeat_numbers(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    times: int,
    **sampling: Unpack[Sampling],
) -> RepeatNumbers:
    """
    Return pass curves and spread over repeated plays of the same conversations.

    With the same resamples and seed the resampled conversations are those of the depth table.

    Args:
        records: The turns that were played.
        scores: Columns over *records*, by name.
        times: How often each conversation was to be played.
        sampling: How intervals are made.

    Returns:
        Curves and spread; ``same`` and ``seeds`` are left empty.
    """
    drawn = resampling(
        [record.recorded_conversation for record in records],
        **sampling,
    )
    groups = groups_in_order(map(group_of, records))
    places: dict[Group, list[int]] = {group: [] for group in groups}
    for index, record in enumerate(records):
        places[group_of(record)].append(index)
    zero_or_one = [name for name, column in scores.items() if says_yes_or_no(column)]
    curves: list[PassCurve] = []
    for group in groups:
        for name in zero_or_one:
            found = outcomes(records, scores[name], places[group])
            curves += pass_curves(group, name, found, times, of_cases(drawn, records, list(found)))
    spread = [
        row
        for group in groups
        for name, column in scores.items()
        for row in _spread(group, name, column, records, places[group], times)
    ]
    return RepeatNumbers(times=times, curves=tuple(curves), spread=tuple(spread))


def _spread(
    group: Group,
    score: str,
    column: ScoreColumn,
    records: Sequence[TurnRecord],
    places: Sequence[int],
    times: int,
) -> list[SpreadRow]:
    cells: dict[tuple[int | None, int], list[int]] = defaultdict(list)
    for index in places:
        if column.is_scored(index):
            cells[records[index].depth, records[index].repeat].append(index)
            cells[None, records[index].repeat].append(index)
    if not cells:
        return []
    depths = [*sorted({depth for depth, _ in cells if depth is not None}), None]
    return [
        SpreadRow(
            group=group,
            score=score,
            percent=column.unit == SHARE,
            depth=depth,
            values=tuple(column.value(cells[depth, repeat]) for repeat in range(1, times + 1)),
            turns=tuple(len(cells[depth, repeat]) for repeat in range(1, times + 1)),
        )
        for depth in depths
    ]
