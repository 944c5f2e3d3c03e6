"""``em``: whether the answer is a reference, word for word (Rajpurkar et al., 2016, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from replay.scorers.answer_text import DECLINING_PATTERNS, words, words_signature
from replay.scorers.reference_score import ReferenceScore, each


def exact_match(answer: str, references: Sequence[str]) -> float:
    """
    Return 1 if *answer* has the words of a reference after SQuAD normalization, in order, else 0.

    ``exact_match("The Eiffel Tower.", ["eiffel tower"])`` is 1.
    """
    found = words(answer, "squad")
    return float(any(found == words(reference, "squad") for reference in references))


def em(answerable_only: bool = False, declining: tuple[str, ...] = DECLINING_PATTERNS) -> ReferenceScore:
    """Return the scorer ``em``: share of answers that equal a reference, in [0, 1]."""
    return ReferenceScore(
        name="em",
        settings=f"{words_signature('squad')}+max",
        score=each(exact_match),
        answerable_only=answerable_only,
        declining=declining,
    )
