"""
``rouge1`` and ``rouge2``: words and word pairs in common (Lin, 2004, *ROUGE: A Package for Automatic
Evaluation of Summaries*, section 2), as the F measure of the rouge-score package.

The package reads ASCII only and so finds no word in a Greek or Chinese answer; here its stemmer is used
and words are told apart in any script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from replay.scorers.answer_text import DECLINING_PATTERNS, Tokens, words, words_signature
from replay.scorers.reference_score import ReferenceScore, each


def runs_f1(
    answer: str, references: Sequence[str], *, n: int, tokens: Tokens = "plain", stemmer: bool = False
) -> float:
    """
    Return the F1 of the runs of *n* words of the answer and of the best reference, in [0, 1].

    A run counts as often as both have it. Texts with words and no run of *n* score 0, equal ones too, as in
    the package; two texts without a word score 1, as in the other word scores.

    ``runs_f1("the cat sat", ["the cat ran"], n=2)``: one pair of two in common, 1/2.
    """
    predicted = words(answer, tokens, stemmer)
    return max(_f1(predicted, words(reference, tokens, stemmer), n) for reference in references)


def _f1(predicted: Sequence[str], gold: Sequence[str], n: int) -> float:
    if not predicted and not gold:
        return 1.0
    found, wanted = _runs(predicted, n), _runs(gold, n)
    total = found.total() + wanted.total()
    return 2 * (found & wanted).total() / total if total else 0.0


def _runs(some: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(some[start:] for start in range(n)), strict=False))


def _rouge_n(
    n: int, tokens: Tokens, stemmer: bool, answerable_only: bool, declining: tuple[str, ...]
) -> ReferenceScore:
    return ReferenceScore(
        name=f"rouge{n}",
        settings=f"{words_signature(tokens, stemmer)}+max",
        score=each(partial(runs_f1, n=n, tokens=tokens, stemmer=stemmer)),
        answerable_only=answerable_only,
        declining=declining,
    )


def rouge1(
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``rouge1``: mean F1 of single words against the best reference, in [0, 1].

    Args:
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
        stemmer: Whether words are cut to their stems, as rouge-score's Porter stemmer does.
    """
    return _rouge_n(1, tokens, stemmer, answerable_only, declining)


def rouge2(
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``rouge2``: mean F1 of pairs of neighbouring words, in [0, 1].

    Args:
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
        stemmer: Whether words are cut to their stems, as rouge-score's Porter stemmer does.
    """
    return _rouge_n(2, tokens, stemmer, answerable_only, declining)
