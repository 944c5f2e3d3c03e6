"""
``em``: whether the answer is a reference, word for word (Rajpurkar et al., 2016, section 6.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, normalize, patterns_signature
from replay.scorers.reference_score import against_references, answerable_signature, mean, score_answers
from replay.scorers.scorer import Unscored


def exact_match(
    answer: str, gold_answers: Sequence[str], *, declining: Sequence[str] = DECLINING_PATTERNS
) -> float:
    """
    1 if *answer* equals any gold answer after SQuAD normalization, else 0.

    ``exact_match("The Eiffel Tower.", ["eiffel tower"])`` is 1.

    Raises:
        ValueError: *gold_answers* is empty.
    """
    return against_references(answer, gold_answers, declining, _exact_match)


def _exact_match(answer: str, references: Sequence[str]) -> float:
    return float(normalize(answer) in {normalize(reference) for reference in references})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """Share of answers that equal a reference after SQuAD normalization, in [0, 1]."""

    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return score_answers(records, self.declining, _exact_match, answerable_only=self.answerable_only)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        only = answerable_signature(self.answerable_only)
        return f"em:squad+max|declining:{patterns_signature(self.declining)}{only}"
