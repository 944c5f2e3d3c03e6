"""
``bleu1``: clipped unigram precision (Papineni et al., 2002, section 2.1), without brevity penalty or
smoothing, for each turn.

Neither corpus BLEU nor sacreBLEU's: those multiply in a brevity penalty and, past one turn, add up
counts over turns; this is the mean over turns of a precision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from replay.scorers.answer_text import DECLINING_PATTERNS, Tokens, words, words_signature
from replay.scorers.reference_score import ReferenceScore, each


def clipped_precision(answer: str, references: Sequence[str], *, tokens: Tokens = "plain") -> float:
    """
    Return the share of the answer's words that a reference has too, in [0, 1].

    A word counts at most as often as in the reference that has it most often, so several references
    together can cover an answer. An answer without words scores 0, or 1 if a reference has none either.

    ``clipped_precision("the the the the the the the", ["The cat is on the mat."])`` is 2/7 (the paper's
    example).
    """
    predicted = Counter(words(answer, tokens))
    gold = [Counter(words(reference, tokens)) for reference in references]
    if not predicted:
        return float(not all(gold))
    most = Counter[str]()
    for one in gold:
        most |= one
    return (predicted & most).total() / predicted.total()


def bleu1(
    tokens: Tokens = "plain",
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``bleu1``: mean clipped unigram precision, in [0, 1].

    Args:
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
    """
    return ReferenceScore(
        name="bleu1",
        settings=f"{words_signature(tokens)}+clip-max|bp:no|smooth:no",
        score=each(partial(clipped_precision, tokens=tokens)),
        answerable_only=answerable_only,
        declining=declining,
    )
