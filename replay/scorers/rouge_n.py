"""
``rouge1`` and ``rouge2``: words and word pairs in common (Lin, 2004, *ROUGE: A Package for Automatic
Evaluation of Summaries*, section 2), as the F measure of the rouge-score package.

The package reads ASCII only and so finds no word in a Greek or Chinese answer; here its stemmer is used
and words are told apart in any script.
"""

from __future__ import annotations

from collections import Counter
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


def rouge_n(
    answer: str,
    gold_answers: Sequence[str],
    *,
    n: int,
    tokens: Tokens = "plain",
    stemmer: bool = False,
    declining: Sequence[str] = DECLINING_PATTERNS,
) -> float:
    """
    F1 of the runs of *n* words of the answer and of the best gold answer, in [0, 1].

    A run counts as often as both have it. Equal texts of fewer than *n* words score 1, where the
    package gives 0.

    ``rouge_n("the cat sat", ["the cat ran"], n=2)``: one pair of two in common, 1/2.

    Raises:
        ValueError: *gold_answers* is empty.
    """
    return against_references(
        answer, gold_answers, declining, lambda text, references: _best(text, references, n, tokens, stemmer)
    )


def _best(answer: str, references: Sequence[str], n: int, tokens: Tokens, stemmer: bool) -> float:
    texts = [words(text, tokens) for text in (answer, *references)]
    predicted, *gold = [stemmed(text) for text in texts] if stemmer else texts
    return max(_f1(predicted, one, n) for one in gold)


def _f1(predicted: Sequence[str], gold: Sequence[str], n: int) -> float:
    if predicted == gold:
        return 1.0
    said, wanted = _runs(predicted, n), _runs(gold, n)
    total = said.total() + wanted.total()
    return 2 * (said & wanted).total() / total if total else 0.0


def _runs(some: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(some[start:] for start in range(n)), strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class RougeN:
    """Mean ROUGE-N F1 against the best reference, in [0, 1]."""

    n: int
    tokens: Tokens = "plain"
    stemmer: bool = False
    """Compare the words' stems (English)."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)
        if self.n < 1:
            raise ValueError(f"n: {self.n} is not a positive whole number")

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return score_answers(
            records,
            self.declining,
            lambda text, references: _best(text, references, self.n, self.tokens, self.stemmer),
            answerable_only=self.answerable_only,
        )

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        words_are = f"{self.tokens}{'+stem' if self.stemmer else ''}"
        only = answerable_signature(self.answerable_only)
        return f"rouge{self.n}:{words_are}+max|declining:{patterns_signature(self.declining)}{only}"


def rouge1(
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> RougeN:
    """The scorer ``rouge1``: single words."""
    return RougeN(n=1, tokens=tokens, stemmer=stemmer, answerable_only=answerable_only, declining=declining)


def rouge2(
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> RougeN:
    """The scorer ``rouge2``: pairs of neighbouring words."""
    return RougeN(n=2, tokens=tokens, stemmer=stemmer, answerable_only=answerable_only, declining=declining)
