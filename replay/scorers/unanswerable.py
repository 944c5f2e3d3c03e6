"""
Questions without an answer: whether a system says so when it should, and only then.

``unanswerable_precision``, ``unanswerable_recall`` and ``unanswerable_f1`` take "can't be answered" for
the thing to be found; ``unanswerable_share`` and ``unanswerable_gold_share`` say how often the system
and the references decline (Li et al., 2022, *Ditch the Gold Standard*, section 6, report them by policy).

A question counts as unanswerable by QuAC's rule: as many of its references decline as answer, or more.
An answer declines if the whole of it is CANNOTANSWER or matches one of the *declining* patterns; for
systems that answer freely give patterns of your own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from replay.core.conversation import CANNOT_ANSWER
from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, declines
from replay.scorers.reference_score import ReferenceScore, Texts, questions_signature, texts_of
from replay.scorers.scorer import Unscored, resampled_shares, resampled_sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Measure = Literal["precision", "recall", "f1"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnanswerableDetection:
    """
    Precision, recall or F1 of declining to answer, in [0, 1].

    Counted over all turns of a cell, not a mean over turns. Not defined, so shown as missing, where
    nothing was declined (precision), nothing should have been (recall), or neither (F1).

    Of three turns declined, two rightly, where four should have been: precision 2/3, recall 2/4, F1 4/7.
    """

    measure: Measure
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)

    def observe(self, records: Sequence[TurnRecord]) -> list[list[int] | Unscored]:
        """Two 0 or 1: the answer declines, the references decline."""
        found = [texts_of(record, self.declining) for record in records]
        return [
            one
            if isinstance(one, Unscored)
            else [int(declines(one[0], self.declining)), int(one[1] == (CANNOT_ANSWER,))]
            for one in found
        ]

    def combine(self, observed: Iterable[Sequence[int]]) -> float:
        pairs = list(observed)
        if not pairs:
            raise ValueError("no observation to combine")
        answers, references = zip(*pairs, strict=True)
        part, whole = self._shares(sum(answers), sum(references), sum(map(operator.mul, answers, references)))
        return part / whole if whole else math.nan

    def combine_resampled(
        self, observed: Sequence[Sequence[int]], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        counted = [(answer, reference, answer * reference) for answer, reference in observed]
        sums, _ = resampled_sums(counted, clusters, weights)
        return resampled_shares(*self._shares(*sums.T))

    def _shares(self, declined: Any, wanted: Any, hits: Any) -> tuple[Any, Any]:
        """Numerator and denominator, of numbers or of arrays."""
        match self.measure:
            case "precision":
                return hits, declined
            case "recall":
                return hits, wanted
            case "f1":
                return 2 * hits, declined + wanted

    @property
    def signature(self) -> str:
        return f"unanswerable_{self.measure}:quac{questions_signature(self.declining)}"


def unanswerable_precision(declining: tuple[str, ...] = DECLINING_PATTERNS) -> UnanswerableDetection:
    """Return the scorer ``unanswerable_precision``: of the turns declined, the share that had to be."""
    return UnanswerableDetection(measure="precision", declining=declining)


def unanswerable_recall(declining: tuple[str, ...] = DECLINING_PATTERNS) -> UnanswerableDetection:
    """Return the scorer ``unanswerable_recall``: of the turns that had to be declined, the share that was."""
    return UnanswerableDetection(measure="recall", declining=declining)


def unanswerable_f1(declining: tuple[str, ...] = DECLINING_PATTERNS) -> UnanswerableDetection:
    """Return the scorer ``unanswerable_f1``: the harmonic mean of both."""
    return UnanswerableDetection(measure="f1", declining=declining)


def unanswerable_share(declining: tuple[str, ...] = DECLINING_PATTERNS) -> ReferenceScore:
    """Return the scorer ``unanswerable_share``: how often the system declines."""
    return ReferenceScore(
        name="unanswerable_share", settings="quac", score=_answer_declines, declining=declining
    )


def _answer_declines(texts: Sequence[Texts], declining: Sequence[str]) -> list[float]:
    return [float(declines(answer, declining)) for answer, _ in texts]


def unanswerable_gold_share(declining: tuple[str, ...] = DECLINING_PATTERNS) -> ReferenceScore:
    """Return the scorer ``unanswerable_gold_share``: how often the references do, on the same turns."""
    return ReferenceScore(
        name="unanswerable_gold_share", settings="quac", score=_references_decline, declining=declining
    )


def _references_decline(texts: Sequence[Texts], declining: Sequence[str]) -> list[float]:
    return [float(references == (CANNOT_ANSWER,)) for _, references in texts]
