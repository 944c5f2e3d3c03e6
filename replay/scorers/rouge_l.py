"""
``rouge_l``: the longest common subsequence of words (Lin, 2004, *ROUGE: A Package for Automatic
Evaluation of Summaries*, section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import (
    DECLINING_PATTERNS,
    Tokens,
    check_patterns,
    patterns_signature,
    stemmed,
    words,
)
from replay.scorers.reference_score import against_references, answerable_signature, mean, score_answers
from replay.scorers.scorer import Unscored


def rouge_l(
    answer: str,
    gold_answers: Sequence[str],
    *,
    beta: float = 1.0,
    tokens: Tokens = "plain",
    stemmer: bool = False,
    declining: Sequence[str] = DECLINING_PATTERNS,
) -> float:
    """
    ``(1 + beta²) R P / (R + beta² P)`` for the best gold answer, in [0, 1].

    R and P are the longest common subsequence over the words of the gold answer and of the answer.
    With ``beta=1`` and plain tokens, on ASCII text, the F measure of the rouge-score package, whose
    *stemmer* it is too. Two texts without words score 1.

    ``rouge_l("police kill the gunman", ["police killed the gunman"])`` is 3/4 (the paper's example).

    Raises:
        ValueError: *gold_answers* is empty.
    """
    return against_references(
        answer,
        gold_answers,
        declining,
        lambda text, references: _best(text, references, beta, tokens, stemmer),
    )


def _best(answer: str, references: Sequence[str], beta: float, tokens: Tokens, stemmer: bool) -> float:
    texts = [words(text, tokens) for text in (answer, *references)]
    predicted, *gold = [stemmed(text) for text in texts] if stemmer else texts
    return max(_f_beta(predicted, one, beta) for one in gold)


def _f_beta(predicted: Sequence[str], gold: Sequence[str], beta: float) -> float:
    if not predicted and not gold:
        return 1.0
    # Here, because `replay --help` and `replay plugins` import scorers without scoring anything.
    from rapidfuzz.distance import LCSseq

    common = LCSseq.similarity(predicted, gold)
    if not common:
        return 0.0
    # The formula of the docstring with R = common / |gold| and P = common / |predicted| put in; equal
    # texts can come out a rounding error above 1.
    return min(1.0, (1 + beta**2) * common / (len(predicted) + beta**2 * len(gold)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RougeL:
    """Mean ROUGE-L F against the best reference, in [0, 1]."""

    beta: float = 1.0
    """How many times as much recall weighs as precision; 0 is precision alone."""
    tokens: Tokens = "plain"
    stemmer: bool = False
    """Compare the words' stems (English)."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)
        if not (math.isfinite(self.beta) and self.beta >= 0):
            raise ValueError(f"beta: {self.beta} is not a finite number of at least 0")

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return score_answers(
            records,
            self.declining,
            lambda text, references: _best(text, references, self.beta, self.tokens, self.stemmer),
            answerable_only=self.answerable_only,
        )

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        words_are = f"{self.tokens}{'+stem' if self.stemmer else ''}"
        only = answerable_signature(self.answerable_only)
        declining = patterns_signature(self.declining)
        return f"rouge_l:{words_are}+max|beta:{self.beta:g}|declining:{declining}{only}"
