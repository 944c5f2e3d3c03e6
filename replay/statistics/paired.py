"""
Differences between two policies or two systems on the same turns.

Two policies fail on different turns and filter out different ones, so the difference of their table
entries mixes the policies' effect with that of other turns. Here both sides are scored on the turns
that both have a score for, and whole conversations are resampled for both at once, so that what makes a
conversation hard drops out of the interval. Several plays of a turn are one, their mean. Where no questions
were recorded the sides have no turns in common but whole conversations, each with the mean of its turns.

Such differences say what testing with recorded answers hides, ``gold`` minus ``pred``, and what better
questions give back of it: ``rewrite``, or ``replace``, minus ``pred``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, NamedTuple, Unpack

import msgspec
import numpy as np
from numpy.typing import NDArray

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.estimate import Resampling, Sampling, resampling
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.interval import scale_of
from replay.statistics.score_column import ScoreColumn, check_columns

Turn = tuple[str, int]
"""Conversation and depth; 0 of one without recorded questions, whose turns are no other play's turns."""


def scored_turns(
    column: ScoreColumn, records: Sequence[TurnRecord], places: Iterable[int]
) -> tuple[ScoreColumn, dict[Turn, int]]:
    """
    Return one scored play of each turn of one side, and the column that has their scores.

    Plays of a turn are averaged, so that a turn has the same weight however often it was played or failed,
    and a side with three plays can be compared with one of five. The mean is assigned to the play that comes
    closest to it, whose answer shows best what the number says. A score that is no mean of turns has no
    average: its plays stay apart, and are paired with the other side's play of the same id.

    Args:
        column: The scores of *records*.
        records: All records.
        places: The indices of the side's records.

    Returns:
        The column with means, and for each turn the index of its play.
    """
    plays: dict[Turn, list[int]] = {}
    for index in places:
        if column.is_scored(index):
            one = records[index]
            name = one.recorded_conversation if column.is_mean else one.conversation
            is_whole = column.is_mean and one.edit == "simulated"
            plays.setdefault((name, 0 if is_whole else one.depth), []).append(index)
    found = {turn: indices[0] for turn, indices in plays.items()}
    several = {turn: indices for turn, indices in plays.items() if len(indices) > 1}
    if not several:
        return column, found
    observed = list(column.observed)
    for turn, indices in several.items():
        values = [observed[index] for index in indices]
        mean = fsum(values) / len(values)
        found[turn] = indices[
            min(range(len(values)), key=[abs(value - mean) for value in values].__getitem__)
        ]
        observed[found[turn]] = mean
    return replace(column, observed=observed), found


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """The difference at one depth, or over all."""

    depth: int | None
    """None for all depths together."""
    turns: int
    """Turns that both sides have a score for."""
    conversations: int
    """Conversations with such a turn."""
    value: float | None
    """Second minus first; None without a common turn."""
    low: float | None
    high: float | None
    """The interval; None with fewer than two conversations, or for *no_interval*."""
    no_interval: str | None = None
    """Why there is no interval; None if there is one."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; of all depths together, depth is null."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """By how much the second group's score differs from the first's on the same turns."""

    score: str
    unit: str
    """What the score counts in: ``share``, ``s``, ``tokens``, ... or nothing."""
    first: Group
    second: Group
    depths: tuple[DifferenceRow, ...]
    """The depths that have a common turn."""
    total: DifferenceRow
    unpaired: int
    """Turns with a score on one side only, left out."""

    @property
    def percent(self) -> bool:
        """Return whether people read the difference in per cent; it is kept as one of shares in any case."""
        return self.unit == SHARE

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; the row of all depths has depth null."""
        return {
            "score": self.score,
            "unit": self.unit,
            "first": msgspec.to_builtins(self.first),
            "second": msgspec.to_builtins(self.second),
            "unpaired": self.unpaired,
            "rows": [row.to_json() for row in (*self.depths, self.total)],
        }


def policy_gaps(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    *,
    baseline: str = "gold",
    **sampling: Unpack[Sampling],
) -> list[PairedDifference]:
    """
    Return each other policy of a system minus its *baseline* policy, in every score.

    *scores* are columns over *records*. In the order of the depth table; empty if no system has both. With
    the same records, resamples and seed the resampled conversations are those of the depth table.

    Raises:
        ValueError: a column doesn't fit the records, or a turn is recorded twice for a group.
    """
    check_columns(records, scores)
    drawn = resampling(
        [record.recorded_conversation for record in records],
        **sampling,
    )
    groups = groups_in_order(map(group_of, records))
    return [
        _paired_difference(records, column, name, (first, second), drawn)
        for second in groups
        if second.policy != baseline and (first := Group(second.system, baseline)) in groups
        for name, column in scores.items()
    ]


MENDING = ("rewrite", "replace")
"""The policies that ask a question in other words after the system's own answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPoints:
    """One system, in one score."""

    gap: PairedDifference
    """``pred`` minus ``gold``: below 0 where recorded answers hide a loss."""
    given_back: Mapping[str, PairedDifference]
    """By policy of ``MENDING``, as far as it was played: that policy minus ``pred``."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "system": self.gap.second.system,
            "score": self.gap.score,
            "gap": self.gap.total.to_json(),
            "given_back": {policy: one.total.to_json() for policy, one in self.given_back.items()},
        }


def hidden_points(
    gaps: Sequence[PairedDifference],
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    **sampling: Unpack[Sampling],
) -> tuple[HiddenPoints, ...]:
    """
    Return what is hidden of each system, in the first of *scores* that is a share and better when higher.

    Args:
        gaps: The differences to ``gold``, as ``policy_gaps`` gives them for the same arguments.
        records: All turns of the run.
        scores: Columns over *records*.
        sampling: How intervals are made.

    Returns:
        One for each system that played ``gold`` and ``pred``; nothing without such a score.

    Raises:
        ValueError: A column doesn't fit the records, or a turn is recorded twice for a group.
    """
    shares = (name for name, one in scores.items() if one.unit == SHARE and not one.lower_is_better)
    score = next(shares, None)
    hiding = [
        gap
        for gap in gaps
        if (gap.score, gap.first.policy, gap.second.policy) == (score, "gold", "pred")
        and gap.total.value is not None
    ]
    if score is None or not hiding:
        return ()
    columns = {score: scores[score]}
    mended = policy_gaps(records, columns, baseline="pred", **sampling)
    return tuple(
        HiddenPoints(
            gap=gap,
            given_back={
                policy: one
                for policy in MENDING
                for one in mended
                if (one.first, one.second.policy) == (gap.second, policy) and one.total.value is not None
            },
        )
        for gap in hiding
    )


def _paired_difference(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    score: str,
    sides: tuple[Group, Group],
    drawn: Resampling,
) -> PairedDifference:
    column, first = scored_turns(column, records, _places(records, sides[0]))
    column, second = scored_turns(column, records, _places(records, sides[1]))
    rows = [cell.row for cell in paired_cells(column, first, second, drawn)]
    return PairedDifference(
        score=score,
        unit=column.unit,
        first=sides[0],
        second=sides[1],
        depths=tuple(rows[:-1]),
        total=rows[-1],
        unpaired=len(first.keys() ^ second.keys()),
    )


class PairedCell(NamedTuple):
    """The turns of one depth that both sides have, or all of them."""

    row: DifferenceRow
    first: list[int]
    """Where the first side's turns are, and below the second's."""
    second: list[int]
    values: tuple[float | None, float | None]
    """Each side's score of them; None without any."""
    resampled: NDArray[np.float64]
    """Second minus first in each resample."""


def paired_cells(
    column: ScoreColumn, first: Mapping[Turn, int], second: Mapping[Turn, int], drawn: Resampling
) -> list[PairedCell]:
    """
    Return the depths that both sides have a turn of; last, all of them.

    The sides say where in *column* their turns are, all of them scored.
    """
    common = sorted(first.keys() & second.keys())
    depths = [*sorted({depth for _, depth in common if depth}), None]
    turns = [[turn for turn in common if depth in (turn[1], None)] for depth in depths]
    cells = [[[side[turn] for turn in keys] for keys in turns] for side in (first, second)]
    half = len(turns)
    resampled, left_out = drawn.samples(column, cells[0] + cells[1])
    differences = resampled[:, half:] - resampled[:, :half]
    samples = differences, None if left_out is None else left_out[:, half:] - left_out[:, :half]
    scale = scale_of(column.unit, difference=True)
    found = []
    for position, (depth, keys) in enumerate(zip(depths, turns, strict=True)):
        before, after = (column.value(side[position]) for side in cells)
        value = None if before is None or after is None else after - before
        conversations = len({drawn.clusters[place] for place in cells[0][position]})
        row = DifferenceRow(
            depth=depth,
            turns=len(keys),
            conversations=conversations,
            value=value,
            **drawn.ends(samples, position, conversations=conversations, estimate=value, scale=scale),
        )
        found.append(
            PairedCell(row, cells[0][position], cells[1][position], (before, after), differences[:, position])
        )
    return found


def _places(records: Sequence[TurnRecord], group: Group) -> list[int]:
    return [index for index, record in enumerate(records) if group_of(record) == group]
