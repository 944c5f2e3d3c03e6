"""
``f1``: how many words answer and reference share (Rajpurkar et al., 2016, section 6.1), with the
unanswerable questions of QuAC (Choi et al., 2018).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from replay.scorers.answer_text import DECLINING_PATTERNS, words, words_signature
from replay.scorers.reference_score import ReferenceScore, each


def token_f1(answer: str, references: Sequence[str]) -> float:
    """
    Return the best bag-of-words F1 of *answer* against any reference, in [0, 1].

    Both sides are normalized as in SQuAD v1.1 (lower case; no punctuation, articles or extra spaces); a
    Chinese character is a word, as in MLQA's script, whose F1 for Chinese this is.
    Two texts that normalize to nothing score 1, where the SQuAD v1.1 script gives 0. Unlike in the
    QuAC script, no leave-one-out maximum over several references is taken here.

    ``token_f1("in the city of Paris", ["Paris, France"])``: 1 word in common, precision 1/4,
    recall 1/2, F1 1/3.
    """
    predicted = words(answer, "squad")
    return max(bag_f1(predicted, words(reference, "squad")) for reference in references)


def bag_f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1 of two bags of words, in [0, 1]; 1 of two empty ones."""
    if not predicted and not gold:
        return 1.0
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))


def f1(answerable_only: bool = False, declining: tuple[str, ...] = DECLINING_PATTERNS) -> ReferenceScore:
    """Return the scorer ``f1``: mean word F1 against the best reference, in [0, 1]."""
    return ReferenceScore(
        name="f1",
        settings=f"{words_signature('squad')}+max",
        score=each(token_f1),
        answerable_only=answerable_only,
        declining=declining,
    )
