"""
``bleu1``: clipped unigram precision (Papineni et al., 2002, section 2.1), without brevity penalty or
smoothing, for each turn.

Neither corpus BLEU nor sacreBLEU's: those multiply in a brevity penalty and, past one turn, add up
counts over turns; this is the mean over turns of a precision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, Tokens, check_patterns, patterns_signature, words
from replay.scorers.reference_score import against_references, answerable_signature, mean, score_answers
from replay.scorers.scorer import Unscored


def bleu1(
    answer: str,
    gold_answers: Sequence[str],
    *,
    tokens: Tokens = "plain",
    declining: Sequence[str] = DECLINING_PATTERNS,
) -> float:
    """
    Share of the answer's words that a gold answer has too, in [0, 1].

    A word counts at most as often as in the gold answer that has it most often, so several references
    together can cover an answer. An answer without words scores 0, or 1 if a reference has none either.

    ``bleu1("the the the the the the the", ["The cat is on the mat."])`` is 2/7 (the paper's example).

    Raises:
        ValueError: *gold_answers* is empty.
    """
    return against_references(
        answer, gold_answers, declining, lambda text, references: _precision(text, references, tokens)
    )


def _precision(answer: str, references: Sequence[str], tokens: Tokens) -> float:
    predicted = Counter(words(answer, tokens))
    most = Counter[str]()
    for reference in references:
        most |= Counter(words(reference, tokens))
    if not predicted:
        return float(any(not words(reference, tokens) for reference in references))
    return (predicted & most).total() / predicted.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bleu1:
    """Mean clipped unigram precision, in [0, 1]."""

    tokens: Tokens = "plain"
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
        return score_answers(
            records,
            self.declining,
            lambda text, references: _precision(text, references, self.tokens),
            answerable_only=self.answerable_only,
        )

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        declining = patterns_signature(self.declining)
        only = answerable_signature(self.answerable_only)
        return f"bleu1:{self.tokens}+clip-max|bp:no|smooth:no|declining:{declining}{only}"
