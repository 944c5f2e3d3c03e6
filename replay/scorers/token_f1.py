"""
``f1``: how many words answer and reference share (Rajpurkar et al., 2016, section 6.1), with the
unanswerable questions of QuAC (Choi et al., 2018).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, patterns_signature, words
from replay.scorers.reference_score import against_references, answerable_signature, mean, score_answers
from replay.scorers.scorer import Unscored


def token_f1(
    answer: str, gold_answers: Sequence[str], *, declining: Sequence[str] = DECLINING_PATTERNS
) -> float:
    """
    Best bag-of-words F1 of *answer* against any gold answer, in [0, 1].

    Both sides are normalized as in SQuAD v1.1 (lower case; no punctuation, articles or extra spaces).
    Two texts that normalize to nothing score 1, where the SQuAD v1.1 script gives 0. Unlike in the
    QuAC script, no leave-one-out maximum over several references is taken here.

    ``token_f1("in the city of Paris", ["Paris, France"])``: 1 word in common, precision 1/4,
    recall 1/2, F1 1/3.

    Raises:
        ValueError: *gold_answers* is empty; a turn without a gold answer has no F1 and is left out by
            the caller, not scored 0.
    """
    return against_references(answer, gold_answers, declining, _best_f1)


def _best_f1(answer: str, references: Sequence[str]) -> float:
    predicted = words(answer, "squad")
    return max(_f1(predicted, words(reference, "squad")) for reference in references)


def _f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    if not predicted and not gold:
        return 1.0
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenF1:
    """Mean word F1 against the best reference, in [0, 1]."""

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
        return score_answers(records, self.declining, _best_f1, answerable_only=self.answerable_only)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        only = answerable_signature(self.answerable_only)
        return f"f1:squad+max|declining:{patterns_signature(self.declining)}{only}"
