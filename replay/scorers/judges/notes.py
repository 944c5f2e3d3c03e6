"""
What a reader should know of the judges behind a table, in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.scorers.judges.tally import JudgeSummary


def remarks(judged: Sequence[JudgeSummary]) -> list[str]:
    """Return plain sentences, judge by judge."""
    return [f"judge {one.name}: {sentence}" for one in judged for sentence in _about(one)]


def _about(judged: JudgeSummary) -> Iterable[str]:
    yield from judged.tally.sentences()
    for flag, found in judged.flags.items():
        yield (
            f"{flag}: {found.times:,} time{'' if found.times == 1 else 's'} in {found.turns:,} "
            f"turn{'' if found.turns == 1 else 's'}, the first one {found.first}."
        )
    for column, spread in judged.spread.items():
        yield (
            f"{len(spread.means)} repeats of {column} over {spread.turns:,} turns: mean "
            f"{sum(spread.means) / len(spread.means):.3g}, from {spread.low:.3g} to {spread.high:.3g}, "
            f"standard deviation {spread.std:.2g}; {spread.turn_std:.2g} within a turn."
        )
