"""
The depth table: every number of a run for each system, policy and turn depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from replay.core.errors import RunError
from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.estimate import Estimate, Sampling, estimate_cells, resampling
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.interval import METHOD_NAMES, IntervalMethod
from replay.statistics.score_column import ScoreColumn, check_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """One system under one policy."""

    group: Group
    depths: tuple[DepthRow, ...]
    """Those at which the data has a turn to ask, depth 1 first."""
    total: DepthRow

    @property
    def rows(self) -> tuple[DepthRow, ...]:
        """By depth, then the total."""
        return (*self.depths, self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthColumn:
    """A score of the table."""

    signature: str
    unit: str
    """What the score counts in: ``share``, ``s``, ``tokens``, ... or nothing."""

    @property
    def percent(self) -> bool:
        """Return whether people read the score in per cent; it is kept as a share in any case."""
        return self.unit == SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthTable:
    """Numbers by system, policy and depth, and how they came about."""

    groups: tuple[GroupTable, ...]
    columns: Mapping[str, DepthColumn]
    """The scores by name, in the order in which they are shown."""
    conversations: int
    """Conversations with a record, the ones that are resampled."""
    resamples: int
    seed: int
    confidence: float
    method: IntervalMethod = "t"

    def to_json(self) -> dict[str, Any]:
        """Return the whole table as plain values for JSON; the row of all depths has depth null."""
        return {
            "columns": {
                name: {"signature": c.signature, "unit": c.unit, "percent": c.percent}
                for name, c in self.columns.items()
            },
            "interval": {
                "method": f"{METHOD_NAMES[self.method]} over conversations",
                "conversations": self.conversations,
                "resamples": self.resamples,
                "seed": self.seed,
                "confidence": self.confidence,
            },
            "groups": [
                {
                    "system": group.group.system,
                    "policy": group.group.policy,
                    "rows": [
                        {
                            **row.counts(),
                            "failures": dict(row.failures),
                            "scores": {name: score.to_json() for name, score in row.scores.items()},
                        }
                        for row in group.rows
                    ],
                }
                for group in self.groups
            ],
        }

    def to_frame(self) -> pd.DataFrame:
        """
        Return one row per system, policy and depth; the depth of the row of all depths is missing.

        A score ``f1`` has the columns ``f1``, ``f1_low``, ``f1_high`` and ``f1_scored``, as shares.
        """
        import pandas as pd

        columns = ["system", "policy", *COUNTS]
        columns += [f"{name}{part}" for name in self.columns for part in _SCORE_PARTS]
        rows = [
            (
                group.group.system,
                group.group.policy,
                *(row.counts()[name] for name in COUNTS),
                *(value for name in self.columns for value in _flat(row.scores[name])),
            )
            for group in self.groups
            for row in group.rows
        ]
        frame = pd.DataFrame(rows, columns=columns)
        kinds = {name: "float64" if name.endswith(("_share", "_s")) else "Int64" for name in COUNTS}
        for name in self.columns:
            kinds |= {f"{name}{part}": "float64" for part in _SCORE_PARTS}
            kinds[f"{name}_scored"] = "Int64"
        return frame.astype(kinds)


_SCORE_PARTS = ("", "_low", "_high", "_scored")


def _flat(score: Estimate) -> tuple[float | None, ...]:
    return score.value, score.low, score.high, score.scored


def depth_table(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    conversations: Mapping[str, int],
    *,
    only_last: bool = False,
    by_all: bool = True,
    **sampling: Unpack[Sampling],
) -> DepthTable:
    """
    Return the depth table of *records*; the same for any order of them.

    *scores* are columns over *records*, by name. *conversations* gives the number of turns of every
    conversation that was to be played, also of those without a record; with *only_last* no other turn of
    them was to be asked, and unless *by_all* systems and policies play each, only what has a record was.

    Raises:
        ValueError: a column doesn't fit the records, or a turn is recorded twice for a system and policy.
        RunError: a record's conversation or depth is not among *conversations*.
    """
    check_columns(records, scores)
    _check_depths(records, conversations)
    order = sorted(range(len(records)), key=lambda i: (records[i].conversation, records[i].depth))
    drawn = resampling(
        [record.recorded_conversation for record in records],
        **sampling,
    )

    groups = groups_in_order(map(group_of, records))
    planned = _turns_by_depth(conversations, only_last)
    depths = [*sorted(depth for depth in planned if depth is not None), None]
    keys = [(group, depth) for group in groups for depth in depths]
    cells: dict[tuple[Group, int | None], list[int]] = {key: [] for key in keys}
    for index in order:
        group = group_of(records[index])
        cells[group, records[index].depth].append(index)
        cells[group, None].append(index)

    estimates = {
        name: estimate_cells(column, list(cells.values()), drawn)[0] for name, column in scores.items()
    }
    rows = {
        (group, depth): depth_row(
            [records[index] for index in cells[group, depth]],
            depth,
            planned[depth] if by_all else len(cells[group, depth]),
            {name: estimates[name][position] for name in scores},
        )
        for position, (group, depth) in enumerate(keys)
    }
    return DepthTable(
        groups=tuple(
            GroupTable(
                group=group,
                depths=tuple(rows[group, depth] for depth in depths if depth is not None),
                total=rows[group, None],
            )
            for group in groups
        ),
        columns={name: DepthColumn(signature=c.scorer.signature, unit=c.unit) for name, c in scores.items()},
        conversations=drawn.weights.clusters,
        resamples=drawn.weights.resamples,
        seed=drawn.weights.seed,
        confidence=drawn.confidence,
        method=drawn.method,
    )


def _check_depths(records: Sequence[TurnRecord], conversations: Mapping[str, int]) -> None:
    for record in records:
        length = conversations.get(record.conversation)
        if length is None or not 1 <= record.depth <= length:
            known = (
                "is not among the conversations"
                if length is None
                else f"has {length} turn{'s' * (length != 1)}"
            )
            raise RunError(
                f'turn {record.depth} of conversation "{record.conversation}" is recorded, but it {known}; '
                "the run's database is damaged, or somebody has changed it"
            )


def _turns_by_depth(conversations: Mapping[str, int], only_last: bool) -> dict[int | None, int]:
    """Return how many turns are to be asked at each depth, and in all."""
    turns: dict[int | None, int] = Counter(
        depth for length in conversations.values() for depth in range(length if only_last else 1, length + 1)
    )
    return {**turns, None: sum(turns.values())}


FEW_CONVERSATIONS = 5
"""Below this many conversations a depth's numbers say little."""

COUNTS = (
    "depth",
    "turns",
    "conversations",
    "skipped",
    "failed",
    "unreached",
    "drift_checked",
    "not_judged",
    "invalid",
    "invalid_share",
    "edited",
    "edited_share",
    "not_found",
    "rewrite_failed",
    "latency_p50_s",
    "latency_p95_s",
)
"""The single values of a row, in the order of tables and files: all but scores and kinds of failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthRow:
    """The turns of one depth, or of all, of one system under one policy."""

    depth: int | None
    """None for all depths together."""
    turns: int
    """Turns asked: answered or failed."""
    conversations: int
    """Conversations with such a turn."""
    skipped: int
    """Turns that the ``filter`` policy did not ask."""
    unreached: int
    """Turns of the data that were never planned: their conversation stopped before, or the run did."""
    failures: Mapping[str, int]
    """Turns asked without getting an answer, by outcome."""
    drift_checked: int
    """Turns with a drift verdict, skipped ones included."""
    unjudged: Mapping[str, int]
    """Turns whose histories should have been compared and could not be, by reason."""
    invalid: int
    """Turns with a drift verdict whose recorded question no longer means the same."""
    edited: int
    """Turns asked with another question than recorded."""
    not_found: int
    """Invalid questions asked as recorded because the data has no standalone form."""
    rewrite_failed: int
    """Questions asked as recorded because the rewriter gave none that could be used."""
    latency_p50_s: float | None
    latency_p95_s: float | None
    """Percentiles over the answered turns; None if there are none."""
    scores: Mapping[str, Estimate]
    shortened: int = 0
    """Turns whose histories hold texts that were too long to be read whole."""

    @property
    def failed(self) -> int:
        """Turns asked without getting an answer."""
        return sum(self.failures.values())

    @property
    def not_judged(self) -> int:
        """Turns whose histories should have been compared and could not be."""
        return sum(self.unjudged.values())

    @property
    def invalid_share(self) -> float | None:
        """Invalid questions among those checked; None where the policy doesn't compare histories."""
        return self.invalid / self.drift_checked if self.drift_checked else None

    @property
    def edited_share(self) -> float | None:
        """Edited questions among those asked; None if none was asked."""
        return self.edited / self.turns if self.turns else None

    def counts(self) -> dict[str, Any]:
        """Return everything but the scores, as plain values."""
        return {name: getattr(self, name) for name in COUNTS}


def depth_row(
    records: Sequence[TurnRecord], depth: int | None, planned: int, scores: Mapping[str, Estimate]
) -> DepthRow:
    """
    Return the row of *records*, all of one system and policy and of *depth* (None: of any).

    *planned* is the number of turns that the data has there.
    """
    asked = [record for record in records if record.outcome != "skipped"]
    drifts = [record.drift for record in records if record.drift is not None]
    verdicts = [drift.valid for drift in drifts if drift.valid is not None]
    unjudged = Counter(drift.kind_not_judged for drift in drifts if drift.valid is None)
    latencies = [r.timing.latency_s for r in asked if r.outcome == "answered" and r.timing is not None]
    p50, p95 = np.quantile(latencies, [0.5, 0.95]) if latencies else (None, None)
    return DepthRow(
        depth=depth,
        turns=len(asked),
        conversations=len({record.recorded_conversation for record in asked}),
        skipped=len(records) - len(asked),
        unreached=planned - len(records),
        failures=dict(sorted(Counter(record.outcome for record in asked if record.failed).items())),
        drift_checked=len(verdicts),
        unjudged=dict(sorted(unjudged.items())),
        invalid=verdicts.count(False),
        edited=sum(record.edit in ("rewritten", "replaced", "augmented") for record in asked),
        not_found=sum(record.edit == "not-found" for record in asked),
        rewrite_failed=sum(record.edit == "rewrite-failed" for record in asked),
        latency_p50_s=None if p50 is None else float(p50),
        latency_p95_s=None if p95 is None else float(p95),
        scores=scores,
        shortened=sum(drift.shortened > 0 for drift in drifts),
    )
