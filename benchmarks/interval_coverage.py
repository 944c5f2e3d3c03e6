"""
How often a 95 % interval holds the truth: each kind of interval, by number of conversations.

    python benchmarks/interval_coverage.py [DATA_SETS [PART_OF_A_NAME]]

The truth of each population below is known, or the number of a million conversations. 8,000 data sets each,
1,000 resamples. A data set without an interval doesn't count; its share is shown where it is above 1 %.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.statistics.interval import METHOD_NAMES, Interval, Scale, interval
from replay.statistics.pass_curves import pass_all, pass_any
from replay.statistics.resampling import cluster_weights, resampled_means

DATA_SETS = 8000
RESAMPLES = 1000
SIZES = (5, 10, 25, 100)

Matrix = NDArray[np.float64]
Rng = np.random.Generator
Estimated = Callable[[int, int, int], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Conversations of which some are drawn, and what is estimated from them."""

    scale: Scale
    draw: Callable[[Rng, int], tuple[Matrix, Matrix]]
    """A number of conversations: for each, the sum over its turns and how many turns it has."""
    reached: float = 1.0
    """The share of a run's conversations that have such a turn at all."""


def _turns(values: Matrix) -> tuple[Matrix, Matrix]:
    return values.sum(axis=1), np.full(len(values), float(values.shape[1]))


def _right(rng: Rng, conversations: int, share: float, alike: float = 0.0) -> Matrix:
    """Five turns a conversation that are right or wrong; *alike* is their correlation in a conversation."""
    if alike:
        size = (1 - alike) / alike
        chance = rng.beta(share * size, (1 - share) * size, size=(conversations, 1))
    else:
        chance = np.full((conversations, 1), share)
    return (rng.random((conversations, 5)) < chance).astype(float)


def _seconds(rng: Rng, conversations: int) -> Matrix:
    return np.exp(0.3 * rng.normal(size=(conversations, 1)) + 0.6 * rng.normal(size=(conversations, 5)))


def _unequal(rng: Rng, conversations: int) -> tuple[Matrix, Matrix]:
    """One to twelve turns; the longer a conversation, the more of them are wrong."""
    turns = rng.integers(1, 13, conversations)
    share = np.clip(0.9 - 0.05 * turns + 0.1 * rng.normal(size=conversations), 0.02, 0.98)
    return rng.binomial(turns, share).astype(float), turns.astype(float)


def _changed(rng: Rng, conversations: int) -> Matrix:
    """A fifth of what was right is wrong on the other side, and a twentieth of what was wrong is right."""
    before = _right(rng, conversations, 0.6, alike=0.2)
    chance = rng.random(before.shape)
    return np.where(before == 1, -(chance < 0.2).astype(float), (chance < 0.05).astype(float))


def _plays(rng: Rng, conversations: int, estimate: Estimated, plays: int, k: int, *beta: float) -> Matrix:
    """pass^k or pass@k of a turn in each conversation, whose chance to pass is drawn from a *beta*."""
    values = np.array([estimate(passed, plays, k) for passed in range(plays + 1)])
    return values[rng.binomial(plays, rng.beta(*beta, size=conversations))][:, None]


POPULATIONS = {
    "a skewed amount of one turn (exponential)": Population(
        scale="amount", draw=lambda rng, n: _turns(rng.exponential(size=(n, 1)))
    ),
    "seconds of five turns (log-normal)": Population(
        scale="amount", draw=lambda rng, n: _turns(_seconds(rng, n))
    ),
    "a rating from 1 to 5, mostly 5": Population(
        scale="amount",
        draw=lambda rng, n: _turns(
            rng.choice([1.0, 2, 3, 4, 5], p=[0.03, 0.05, 0.12, 0.3, 0.5], size=(n, 5))
        ),
    ),
    "80 % right": Population(scale="share", draw=lambda rng, n: _turns(_right(rng, n, 0.8))),
    "95 % right, alike in a conversation": Population(
        scale="share", draw=lambda rng, n: _turns(_right(rng, n, 0.95, alike=0.3))
    ),
    "5 % right": Population(scale="share", draw=lambda rng, n: _turns(_right(rng, n, 0.05))),
    "unequal numbers of turns": Population(scale="share", draw=_unequal),
    "a depth that one in four reaches, 80 % right": Population(
        scale="share", draw=lambda rng, n: _turns(_right(rng, n, 0.8)[:, :1]), reached=0.25
    ),
    "pass^3 of 3 plays, chances of Beta(4, 1)": Population(
        scale="share", draw=lambda rng, n: _turns(_plays(rng, n, pass_all, 3, 3, 4, 1))
    ),
    "pass^3 of 8 plays, chances of Beta(4, 1)": Population(
        scale="share", draw=lambda rng, n: _turns(_plays(rng, n, pass_all, 8, 3, 4, 1))
    ),
    "pass^8 of 8 plays, most conversations certain (Beta(1, 0.2))": Population(
        scale="share", draw=lambda rng, n: _turns(_plays(rng, n, pass_all, 8, 8, 1, 0.2))
    ),
    "pass@3 of 5 plays, chances of Beta(1, 2)": Population(
        scale="share", draw=lambda rng, n: _turns(_plays(rng, n, pass_any, 5, 3, 1, 2))
    ),
    "difference of two shares, paired": Population(
        scale="signed share", draw=lambda rng, n: _turns(_changed(rng, n))
    ),
    "difference of seconds, paired": Population(
        scale="difference", draw=lambda rng, n: _turns(1.2 * _seconds(rng, n) - _seconds(rng, n))
    ),
}


def samples(
    population: Population, rng: Rng, conversations: int, data_sets: int
) -> Iterator[tuple[float, Matrix, Matrix]]:
    """For each data set: the estimate, its resampled values, and those without one conversation each."""
    all_of_run = round(conversations / population.reached)
    weights = cluster_weights(all_of_run, resamples=RESAMPLES, seed=0)
    left_out = 1.0 - np.eye(all_of_run)
    for _ in range(data_sets):
        sums, counts = np.zeros((2, all_of_run))
        sums[:conversations], counts[:conversations] = population.draw(rng, conversations)
        resampled, jackknifed = (
            resampled_means(sums[:, None], counts[:, None], drawn)[:, 0] for drawn in (weights, left_out)
        )
        yield sums.sum() / counts.sum(), resampled, jackknifed


def coverage(population: Population, conversations: int, data_sets: int) -> dict[str, str]:
    """By method, how often the interval holds the truth, and how wide it is on average."""
    sums, counts = population.draw(np.random.default_rng(0), 1_000_000)
    truth = sums.sum() / counts.sum()
    widths: dict[str, list[float]] = {method: [] for method in METHOD_NAMES}
    held = dict.fromkeys(METHOD_NAMES, 0)
    rng = np.random.default_rng(1)
    for estimate, resampled, jackknifed in samples(population, rng, conversations, data_sets):
        for method in METHOD_NAMES:
            found = interval(
                resampled,
                method=method,
                confidence=0.95,
                conversations=conversations,
                estimate=float(estimate),
                scale=population.scale,
                jackknifed=jackknifed,
            )
            if isinstance(found, Interval):
                widths[method].append(found.high - found.low)
                held[method] += found.low <= truth <= found.high
    said = {}
    for method, known in widths.items():
        said[method] = f"{100 * held[method] / len(known):.1f} % (width {np.mean(known):.2f})"
        if (missing := 1 - len(known) / data_sets) > 0.01:
            said[method] += f", none {100 * missing:.0f} %"
    return said


def main() -> None:
    data_sets = int(sys.argv[1]) if len(sys.argv) > 1 else DATA_SETS
    print("| population | conversations |", " | ".join(METHOD_NAMES), "|\n|---|---:|---:|---:|---:|")
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, population in POPULATIONS.items():
        for conversations in SIZES if part in name else ():
            found = coverage(population, conversations, data_sets)
            print(f"| {name} | {conversations} |", " | ".join(found.values()), "|", flush=True)


if __name__ == "__main__":
    main()
