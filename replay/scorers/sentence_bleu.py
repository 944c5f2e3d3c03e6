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
from collections.abc import Sequence

from replay.scorers.answer_text import DECLINING_PATTERNS, word_runs
from replay.scorers.reference_score import ReferenceScore, each

ORDERS = 4
EPSILON = 0.1
"""What method 1 puts for a count of zero."""


def smoothed_bleu(answer: str, references: Sequence[str]) -> float:
    """
    Geometric mean of the clipped precisions of 1 to 4 words times the brevity penalty, in [0, 1].

    An answer without a word of the references scores 0; so, nearly, does an equal text of fewer than
    four words, since it has no run of four.

    ``smoothed_bleu("the cat sat on the mat", ["the cat sat on a mat"])``: 5/6, 3/5, 2/4 and 1/3, no
    penalty, 0.5373.
    """
    predicted, gold = answer.split(), [reference.split() for reference in references]
    if not predicted:
        return float(not all(gold))
    logarithms = []
    for n in range(1, ORDERS + 1):
        found = word_runs(predicted, n)
        most = Counter[tuple[str, ...]]()
        for one in gold:
            most |= word_runs(one, n)
        matches, total = (found & most).total(), max(1, found.total())
        if n == 1 and not matches:
            return 0.0
        logarithms.append(math.log((matches or EPSILON) / total) / ORDERS)
    # The reference nearest in length, the shorter of two.
    length = min((len(one) for one in gold), key=lambda length: (abs(length - len(predicted)), length))
    penalty = min(0.0, 1 - length / len(predicted))
    return math.exp(penalty + math.fsum(logarithms))


def sentence_bleu(
    answerable_only: bool = False, declining: tuple[str, ...] = DECLINING_PATTERNS
) -> ReferenceScore:
    """The scorer ``sentence_bleu``: mean over turns of smoothed sentence BLEU, in [0, 1]."""
    return ReferenceScore(
        name="sentence_bleu",
        settings=f"whitespace|smooth:method1-{EPSILON:g}",
        score=each(smoothed_bleu),
        answerable_only=answerable_only,
        declining=declining,
    )
