"""
``rouge_l``: the longest common subsequence of words (Lin, 2004, *ROUGE: A Package for Automatic
Evaluation of Summaries*, section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from replay.scorers.answer_text import DECLINING_PATTERNS, Tokens, words, words_signature
from replay.scorers.reference_score import ReferenceScore, each


def lcs_f(
    answer: str,
    references: Sequence[str],
    *,
    beta: float = 1.0,
    tokens: Tokens = "plain",
    stemmer: bool = False,
) -> float:
    """
    Return ``(1 + beta²) R P / (R + beta² P)`` for the best reference, in [0, 1].

    R and P are the longest common subsequence over the words of the reference and of the answer.
    With ``beta=1`` and plain tokens, on ASCII text, the F measure of the rouge-score package, whose
    *stemmer* it is too. Two texts without words score 1.

    ``lcs_f("police kill the gunman", ["police killed the gunman"])`` is 3/4 (the paper's example).
    """
    predicted = words(answer, tokens, stemmer)
    return max(_f_beta(predicted, words(reference, tokens, stemmer), beta) for reference in references)


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


def rouge_l(
    beta: float = 1.0,
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``rouge_l``: mean ROUGE-L F against the best reference, in [0, 1].

    *beta* is how many times as much recall weighs as precision; 0 is precision alone.

    Args:
        beta: How much recall counts beside precision.
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
        stemmer: Whether words are cut to their stems, as rouge-score's Porter stemmer does.
    """
    if not (math.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta: {beta} is not a finite number of at least 0")
    return ReferenceScore(
        name="rouge_l",
        settings=f"{words_signature(tokens, stemmer)}+max|beta:{beta:g}",
        score=each(partial(lcs_f, beta=beta, tokens=tokens, stemmer=stemmer)),
        answerable_only=answerable_only,
        declining=declining,
    )
