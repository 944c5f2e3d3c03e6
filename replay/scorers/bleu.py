"""
BLEU (Papineni et al., 2002) in three ways. ``bleu4`` is the one that papers report: corpus BLEU as
sacreBLEU computes it (Post, 2018, *A Call for Clarity in Reporting BLEU Scores*). Not a mean over turns:
the n-gram counts of all turns of a cell are added up first. So what is kept for a turn are its counts, and
the BLEU of any subset is exact.

``bleu1`` is the mean over turns of clipped unigram precision (section 2.1), without brevity penalty or
smoothing; corpus BLEU and sacreBLEU's multiply in a brevity penalty and, past one turn, add up counts over
turns.

``sentence_bleu`` is BLEU of one answer (section 2) on words between white space, smoothed by method 1 of
Chen & Cherry, *A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU*, 2014: NLTK's
``sentence_bleu`` with ``SmoothingFunction().method1``, for comparison with tables made that way. Case and
punctuation count, as there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from replay.core.conversation import CANNOT_ANSWER
from replay.core.record import TurnRecord
from replay.scorers.answer_text import (
    DECLINING_PATTERNS,
    Tokens,
    check_patterns,
    declines,
    words,
    words_signature,
)
from replay.scorers.reference_score import ReferenceScore, each, questions_signature, texts_of
from replay.scorers.scorer import Unscored, resampled_sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.bleu import BLEU, BLEUScore


Tokenize = Literal["13a", "intl", "zh", "char", "none"]
Smooth = Literal["exp", "floor", "add-k", "none"]
ORDERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bleu4:
    """
    Corpus BLEU over runs of 1 to 4 words, in [0, 1]: sacreBLEU's number divided by 100.

    An answer that declines is read as the one word CANNOTANSWER, and so are references that do. A
    cell without a run of four words has BLEU 0 unless *effective_order* is set.
    """

    tokenize: Tokenize = "13a"
    """sacreBLEU's tokenizer."""
    lowercase: bool = False
    """Whether case is dropped first."""
    smooth: Smooth = "exp"
    """sacreBLEU's smoothing of orders without a match."""
    effective_order: bool = False
    """Leave out the orders that no answer of the cell is long enough for."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)

    def observe(self, records: Sequence[TurnRecord]) -> list[list[int] | Unscored]:
        """Return matches and runs of each order, the answer's length and the nearest reference's."""
        found = [texts_of(record, self.declining, self.answerable_only) for record in records]
        return [one if isinstance(one, Unscored) else self._counts(*one) for one in found]

    def _counts(self, text: str, references: Sequence[str]) -> list[int]:
        answer = CANNOT_ANSWER if declines(text, self.declining) else text
        found = sentence_counts(answer, references, self.tokenize, self.lowercase)
        return [*map(int, found.counts), *map(int, found.totals), found.sys_len, found.ref_len]

    def combine(self, observed: Iterable[Sequence[int]]) -> float:
        sums = [sum(column) for column in zip(*observed, strict=True)]
        if not sums:
            raise ValueError("no observation to combine")
        return self._score(sums)

    def combine_resampled(
        self, observed: Sequence[Sequence[int]], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import numpy as np

        sums, counts = resampled_sums(observed, clusters, weights)
        rows = sums.astype(np.int64).tolist()
        return np.array([self._score(row) if n else np.nan for row, n in zip(rows, counts, strict=True)])

    def _score(self, sums: list[int]) -> float:
        from sacrebleu.metrics.bleu import BLEU

        score = BLEU.compute_bleu(
            correct=sums[:ORDERS],
            total=sums[ORDERS : 2 * ORDERS],
            sys_len=sums[-2],
            ref_len=sums[-1],
            smooth_method=self.smooth,
            effective_order=self.effective_order,
        )
        return min(1.0, score.score / 100)

    @property
    def signature(self) -> str:
        case, effective = "lc" if self.lowercase else "mixed", "yes" if self.effective_order else "no"
        questions = questions_signature(self.declining, self.answerable_only)
        return (
            f"bleu4:sacrebleu|case:{case}|eff:{effective}|tok:{self.tokenize}|smooth:{self.smooth}{questions}"
        )


def sentence_counts(
    answer: str, references: Sequence[str], tokenize: Tokenize, lowercase: bool = False
) -> BLEUScore:
    """Return sacreBLEU's counts: n-grams of 1 to 4 words, matching and all, and both lengths."""
    # Smoothing and effective order don't touch the counts.
    return _bleu(tokenize, lowercase).sentence_score(answer, list(references))


@lru_cache(maxsize=8)
def _bleu(tokenize: str, lowercase: bool) -> BLEU:
    # Here, because `replay --help` and `replay plugins` import scorers without scoring anything.
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenize, lowercase=lowercase, smooth_method="none", effective_order=True)


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
