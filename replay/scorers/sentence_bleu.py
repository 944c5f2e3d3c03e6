"""
``sentence_bleu``: BLEU of one answer (Papineni et al., 2002, section 2) on words between white space,
smoothed by method 1 of Chen & Cherry, *A Systematic Comparison of Smoothing Techniques for
Sentence-Level BLEU*, 2014: NLTK's ``sentence_bleu`` with ``SmoothingFunction().method1``.

For comparison with tables made that way. Case and punctuation count, as there; ``bleu4`` is the BLEU
that papers report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.bleu4 import ORDERS, sentence_counts
from replay.scorers.reference_score import ReferenceScore, each

EPSILON = 0.1
"""What method 1 puts for a count of zero."""


def smoothed_bleu(answer: str, references: Sequence[str]) -> float:
    """
    Return clipped precision of 1 to 4 words (geometric mean) times brevity penalty, in [0, 1].

    An answer without a word of the references scores 0; so, nearly, does an equal text of fewer than
    four words, since it has no run of four.

    ``smoothed_bleu("the cat sat on the mat", ["the cat sat on a mat"])``: 5/6, 3/5, 2/4 and 1/3, no
    penalty, 0.5373.
    """
    if not answer.split():
        return float(any(not reference.split() for reference in references))
    found = sentence_counts(answer, references, "none")
    if not found.counts[0]:
        return 0.0
    precisions = [
        (matches or EPSILON) / max(1, total)
        for matches, total in zip(found.counts, found.totals, strict=True)
    ]
    penalty = min(0.0, 1 - found.ref_len / found.sys_len)
    return math.exp(penalty + math.fsum(math.log(one) / ORDERS for one in precisions))


def sentence_bleu(
    answerable_only: bool = False, declining: tuple[str, ...] = DECLINING_PATTERNS
) -> ReferenceScore:
    """Return the scorer ``sentence_bleu``: mean over turns of smoothed sentence BLEU, in [0, 1]."""
    return ReferenceScore(
        name="sentence_bleu",
        settings=f"whitespace|smooth:method1-{EPSILON:g}",
        score=each(smoothed_bleu),
        answerable_only=answerable_only,
        declining=declining,
    )
