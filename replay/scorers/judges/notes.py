"""
What a reader should know of the judges behind a table, in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.scorers.judges.tally import Judged, Tally


def remarks(judged: Sequence[Judged]) -> list[str]:
    """Plain sentences, judge by judge."""
    return [f"judge {one.name}: {sentence}" for one in judged for sentence in _about(one)]


def _about(judged: Judged) -> Iterable[str]:
    tally = judged.tally
    yield f"{_taken(tally)}."
    if tally.failed_asks:
        first = " ".join((tally.first_failure or "").split())
        yield f"{tally.failed_asks:,} {_asks(tally.failed_asks)} failed, the first one: {first[:300]}"
    yield from tally.problems
    for column, spread in judged.spread.items():
        yield (
            f"{len(spread.means)} repeats of {column} over {spread.turns:,} turns: mean "
            f"{sum(spread.means) / len(spread.means):.3g}, from {spread.low:.3g} to {spread.high:.3g}, "
            f"standard deviation {spread.std:.2g}; {spread.turn_std:.2g} within a turn."
        )


def _taken(tally: Tally) -> str:
    parts = [f"{tally.asks:,} {_asks(tally.asks)} sent"]
    if tally.retries:
        parts.append(f"{tally.retries:,} of them retries")
    if tally.cached:
        parts.append(f"{tally.cached:,} replies reused")
    if tally.prompt_tokens or tally.completion_tokens:
        parts.append(f"{tally.prompt_tokens:,} prompt and {tally.completion_tokens:,} completion tokens")
    if tally.uncounted:
        parts.append(f"{tally.uncounted:,} replies without a token count")
    if tally.cost_usd is not None:
        parts.append(f"{tally.cost_usd:.4f} US dollars")
    return ", ".join(parts)


def _asks(count: int) -> str:
    return "ask" if count == 1 else "asks"
