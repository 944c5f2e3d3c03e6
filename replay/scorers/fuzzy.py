"""
``fuzzy``: whether a gold answer stands in the answer, or nearly so: the best partial match of two
strings, held against a threshold.

The ratio is rapidfuzz's ``partial_ratio``: the shorter text against the best place in the longer one. It
reads both ways, so an answer that is a mere piece of the gold answer ("in" of "in 1996") matches too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from replay.scorers.answer_text import DECLINING_PATTERNS, normalize
from replay.scorers.reference_score import ReferenceScore, each


def fuzzy_ratio(answer: str, gold: str) -> float:
    """
    How much of the shorter text the longer one holds in one place, in [0, 1].

    Case, ASCII punctuation, articles and extra spaces don't count (SQuAD normalization). 1 if one
    stands in the other word for word, or neither says anything; 0 if only one says nothing.

    ``fuzzy_ratio("It was built in 1889, I believe.", "1889")`` is 1.
    """
    # Here, because `replay --help` and `replay plugins` import scorers without scoring anything.
    from rapidfuzz.fuzz import partial_ratio

    predicted, wanted = normalize(answer), normalize(gold)
    if predicted == wanted:
        return 1.0  # also where neither says anything, which is 0 to rapidfuzz
    return partial_ratio(predicted, wanted) / 100


def _best(answer: str, references: Sequence[str], *, threshold: float | None) -> float:
    best = max(fuzzy_ratio(answer, reference) for reference in references)
    return best if threshold is None else float(best >= threshold)


def fuzzy(
    threshold: float | None = 0.8,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    The scorer ``fuzzy``: share of answers that match a reference at least as well as *threshold*, in [0, 1].

    With a threshold of None, the mean of the ratios themselves.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not between 0 and 1")
    return ReferenceScore(
        name="fuzzy",
        settings=f"partial+squad+max|threshold:{'none' if threshold is None else f'{threshold:g}'}",
        score=each(partial(_best, threshold=threshold)),
        answerable_only=answerable_only,
        declining=declining,
    )
