"""
``sentence_bleu``: BLEU of one answer (Papineni et al., 2002, section 2) on words between white space,
smoothed by method 1 of Chen & Cherry, *A Systematic Comparison of Smoothing Techniques for
Sentence-Level BLEU*, 2014: NLTK's ``sentence_bleu`` with ``SmoothingFunction().method1``.

For comparison with tables made that way. Case and punctuation count, as there; ``bleu4`` is the BLEU
that papers report.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, patterns_signature
from replay.scorers.reference_score import against_references, answerable_signature, mean, score_answers
from replay.scorers.scorer import Unscored

ORDERS = 4
EPSILON = 0.1
"""What method 1 puts for a count of zero."""


def sentence_bleu(
    answer: str, gold_answers: Sequence[str], *, declining: Sequence[str] = DECLINING_PATTERNS
) -> float:
    """
    Geometric mean of the clipped precisions of 1 to 4 words times the brevity penalty, in [0, 1].

    An answer without a word of the gold answers scores 0; so, nearly, does an equal text of fewer than
    four words, since it has no run of four.

    ``sentence_bleu("the cat sat on the mat", ["the cat sat on a mat"])``: 5/6, 3/5, 2/4 and 1/3, no
    penalty, 0.5373.

    Raises:
        ValueError: *gold_answers* is empty.
    """
    return against_references(answer, gold_answers, declining, _bleu)


def _bleu(answer: str, references: Sequence[str]) -> float:
    predicted, gold = answer.split(), [reference.split() for reference in references]
    if not predicted:
        return float(any(not one for one in gold))
    logarithms = []
    for n in range(1, ORDERS + 1):
        said = _runs(predicted, n)
        most = Counter[tuple[str, ...]]()
        for one in gold:
            most |= _runs(one, n)
        matches, total = (said & most).total(), max(1, said.total())
        if n == 1 and not matches:
            return 0.0
        logarithms.append(math.log((matches or EPSILON) / total) / ORDERS)
    # The reference nearest in length, the shorter of two.
    length = min((len(one) for one in gold), key=lambda length: (abs(length - len(predicted)), length))
    penalty = min(0.0, 1 - length / len(predicted))
    return math.exp(penalty + math.fsum(logarithms))


def _runs(some: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(some[start:] for start in range(n)), strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceBleu:
    """Mean over turns of smoothed sentence BLEU, in [0, 1]."""

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
        return score_answers(records, self.declining, _bleu, answerable_only=self.answerable_only)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        only = answerable_signature(self.answerable_only)
        declining = patterns_signature(self.declining)
        return f"sentence_bleu:whitespace|smooth:method1-{EPSILON:g}|declining:{declining}{only}"
