"""
The type of every scorer of an answer against its references: which turns it scores, how questions without
an answer count, and the mean. What a metric adds is its formula, as in ``exact_match.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from replay.core.conversation import CANNOT_ANSWER
from replay.core.neural_models import check_neural
from replay.core.record import TurnRecord
from replay.scorers.answer_text import (
    DECLINING_PATTERNS,
    check_patterns,
    declines,
    patterns_signature,
    quac_references,
)
from replay.scorers.scorer import SHARE, Unscored

Texts = tuple[str, tuple[str, ...]]
"""An answer, and the references that QuAC's rule leaves, or all; any of them may decline."""

TextsScores = Callable[[Sequence[Texts], Sequence[str]], Sequence[float | Unscored]]
"""Takes texts and the patterns of those that decline; gives a number for each, or why there is none."""

AnswerScore = Callable[[str, Sequence[str]], float]
"""Takes an answer and its references; gives a number."""

PairScores = Callable[[Sequence[tuple[str, str]]], Sequence[float | Unscored]]
"""Takes pairs of an answer and a reference; gives a number for each, or why there is none."""


class MeanOfTurns:
    """A scorer whose number is the mean of its observations."""

    __slots__ = ()

    @property
    def is_mean(self) -> bool:
        return True

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceScore(MeanOfTurns):
    """The mean over turns of what a formula gives for the answer and its references."""

    name: str
    settings: str
    """What the signature says between the name and how declining is recognized."""
    score: TextsScores
    """``each`` or ``best_pair`` of a formula, as a rule. It travels to other processes, so no lambda."""
    unit: str = SHARE
    needs: tuple[str, ...] = ()
    """Modules of the extra ``neural`` that *score* imports."""
    all_references: bool = False
    """Give *score* every reference, in place of those that QuAC's rule leaves."""
    answerable_only: bool = False
    """Leave out questions that count as unanswerable by QuAC's rule."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)

    @property
    def is_neural(self) -> bool:
        return bool(self.needs)

    def check_installed(self) -> None:
        check_neural(self.needs, self.name)

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """
        Return one score for each record that has an answer and a reference, or why there is none.

        Raises:
            PluginError: the metric needs an extra or a model that is not to be had.
        """
        found = [
            texts_of(record, self.declining, self.answerable_only, self.all_references) for record in records
        ]
        scores = iter(self.score([one for one in found if not isinstance(one, Unscored)], self.declining))
        return [one if isinstance(one, Unscored) else next(scores) for one in found]

    @property
    def signature(self) -> str:
        return f"{self.name}:{self.settings}{questions_signature(self.declining, self.answerable_only)}"


def each(score: AnswerScore) -> TextsScores:
    """Return *score* of every answer against its references, unless one side declines."""
    return partial(_each, score)


def _each(score: AnswerScore, texts: Sequence[Texts], declining: Sequence[str]) -> list[float]:
    return [
        score(answer, references)
        if (decided := declined_score(answer, references, declining)) is None
        else decided
        for answer, references in texts
    ]


def best_pair(score: PairScores) -> TextsScores:
    """
    Return *score* of each answer's best pair with a reference, unless one side declines; in one batch.

    An answer none of whose pairs has a score has none, for the first one's reason.
    """
    return partial(_best_pairs, score)


def _best_pairs(
    score: PairScores, texts: Sequence[Texts], declining: Sequence[str]
) -> list[float | Unscored]:
    decided = [declined_score(answer, references, declining) for answer, references in texts]
    pairs = [
        (answer, reference)
        for (answer, references), known in zip(texts, decided, strict=True)
        if known is None
        for reference in references
    ]
    scores = iter(score(pairs) if pairs else ())  # or a model would be loaded for nothing
    best: list[float | Unscored] = []
    for (_, references), known in zip(texts, decided, strict=True):
        found = list(islice(scores, len(references))) if known is None else [known]
        best.append(max((one for one in found if not isinstance(one, Unscored)), default=found[0]))
    return best


def declined_score(answer: str, references: Sequence[str], declining: Sequence[str]) -> float | None:
    """
    Return 1 if answer and references both decline, 0 if only one side does; None if neither does.

    Words are compared only in the last case.
    """
    answer_declines, references_decline = declines(answer, declining), references == (CANNOT_ANSWER,)
    return float(answer_declines and references_decline) if answer_declines or references_decline else None


def texts_of(
    record: TurnRecord,
    declining: Sequence[str],
    answerable_only: bool = False,
    all_references: bool = False,
) -> Texts | Unscored:
    """
    Return the texts to compare, or why the record has no score.

    With *answerable_only* a question that counts as unanswerable has none either; with *all_references*
    those that decline stay beside the others.
    """
    if (why := why_unscored(record)) is not None:
        return why
    assert record.answer is not None
    references = quac_references(record.gold_answers, declining)
    if answerable_only and references == (CANNOT_ANSWER,):
        return Unscored(reason="unanswerable question")
    return record.answer, record.gold_answers if all_references else references


def why_unscored(record: TurnRecord) -> Unscored | None:
    """Return ``why_unanswered``'s reason, or ``no gold answer``; None with an answer and a reference."""
    why = why_unanswered(record)
    return Unscored(reason="no gold answer") if why is None and not record.gold_answers else why


def why_unanswered(record: TurnRecord) -> Unscored | None:
    """Return ``skipped`` or ``not answered: OUTCOME``; None if *record* has an answer."""
    if record.outcome == "skipped":
        return Unscored(reason="skipped")
    return Unscored(reason=f"not answered: {record.outcome}") if record.answer is None else None


def questions_signature(declining: Sequence[str], answerable_only: bool = False) -> str:
    """Return a signature's end: patterns of declining, and whether only answerable questions count."""
    only = "|questions:answerable" if answerable_only else ""
    return f"|declining:{patterns_signature(declining)}{only}"


def mean(observed: Iterable[float]) -> float:
    """
    Return the mean, the same to the last bit for any order.

    Raises:
        ValueError: *observed* is empty.
    """
    values = list(observed)
    if not values:
        raise ValueError("no observation to combine")
    return math.fsum(values) / len(values)
