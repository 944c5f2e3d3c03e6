"""Several plays of a turn as one, where turns of two sides are paired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import fsum

from replay.core.record import TurnRecord
from replay.statistics.score_column import ScoreColumn

Turn = tuple[str, int]
"""Conversation and depth."""


def scored_turns(
    column: ScoreColumn, records: Sequence[TurnRecord], places: Iterable[int]
) -> tuple[ScoreColumn, dict[Turn, int]]:
    """
    Where one side's scored turns are, and the column that has their scores there; *places* are the side's.

    Plays of a turn are averaged, so that a turn weighs the same however often it was played or failed, and a
    side with three plays can be held against one with five. Their mean stands with the play that comes
    closest to it, whose answer shows best what the number says. A score that is no mean of turns has no
    average: its plays stay apart, and are paired with the other side's play of the same id.
    """
    plays: dict[Turn, list[int]] = {}
    for index in places:
        if column.is_scored(index):
            one = records[index]
            name = one.recorded_conversation if column.is_mean else one.conversation
            plays.setdefault((name, one.depth), []).append(index)
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
