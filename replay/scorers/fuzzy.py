"""
``fuzzy``: whether a gold answer stands in the answer, or nearly so: the best partial match of two
strings, held against a threshold.

The ratio is rapidfuzz's ``partial_ratio``: the shorter text against the best place in the longer one. It
reads both ways, so an answer that is a mere piece of the gold answer ("in" of "in 1996") matches too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, normalize, patterns_signature
from replay.scorers.reference_score import answerable_signature, mean, score_answers
from replay.scorers.scorer import Unscored


def fuzzy_ratio(answer: str, gold: str) -> float:
    """
    How much of the shorter text the longer one holds in one place, in [0, 1].

    Case, ASCII punctuation, articles and extra spaces don't count (SQuAD normalization). 1 if one
    stands in the other word for word, or neither says anything; 0 if only one says nothing.

    ``fuzzy_ratio("It was built in 1889, I believe.", "1889")`` is 1.
    """
    # Here, because `replay --help` and `replay plugins` import scorers without scoring anything.
    from rapidfuzz.fuzz import partial_ratio

    said, wanted = normalize(answer), normalize(gold)
    if not said or not wanted:
        return float(said == wanted)
    return partial_ratio(said, wanted) / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzzy:
    """Share of answers that match a reference at least as well as *threshold*, in [0, 1]."""

    threshold: float | None = 0.8
    """From 0 to 1; null for the mean of the ratios themselves."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold: {self.threshold} is not between 0 and 1")

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return score_answers(records, self.declining, self._best, answerable_only=self.answerable_only)

    def _best(self, answer: str, references: Sequence[str]) -> float:
        best = max(fuzzy_ratio(answer, reference) for reference in references)
        return best if self.threshold is None else float(best >= self.threshold)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        threshold = "none" if self.threshold is None else f"{self.threshold:g}"
        only = answerable_signature(self.answerable_only)
        declining = patterns_signature(self.declining)
        return f"fuzzy:partial+squad+max|threshold:{threshold}|declining:{declining}{only}"
