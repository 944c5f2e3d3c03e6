"""
What every scorer of an answer against reference answers shares: which turns it scores, how questions
without an answer count, and the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from replay.conversation import CANNOT_ANSWER
from replay.record import TurnRecord
from replay.scorers.answer_text import declines, quac_references
from replay.scorers.scorer import Unscored

AnswerScore = Callable[[str, Sequence[str]], float]
"""Takes an answer and one or more references; gives a number in [0, 1]."""


def score_answers(
    records: Sequence[TurnRecord], declining: Sequence[str], score: AnswerScore
) -> list[float | Unscored]:
    """One score in [0, 1] for each record that has an answer and a reference, or why there is none."""
    return [
        why if (why := why_unscored(record)) is not None else _score(record, declining, score)
        for record in records
    ]


def why_unscored(record: TurnRecord) -> Unscored | None:
    """
    Why a scorer that needs an answer and a reference can't score *record*; None if it can.

    ``skipped``, ``not answered: OUTCOME`` or ``no gold answer``, the first that holds.
    """
    if record.outcome == "skipped":
        return Unscored(reason="skipped")
    if record.answer is None:
        return Unscored(reason=f"not answered: {record.outcome}")
    if not record.gold_answers:
        return Unscored(reason="no gold answer")
    return None


def against_references(
    answer: str, gold_answers: Sequence[str], declining: Sequence[str], score: AnswerScore
) -> float:
    """
    *score* of *answer* against the references that QuAC's rule leaves of *gold_answers*.

    Where the answer or the references decline, words aren't compared: 1 if both do, 0 if only one.

    Raises:
        ValueError: *gold_answers* is empty; a turn without a gold answer is left out by the caller.
    """
    references = quac_references(gold_answers, declining)
    if not references:
        raise ValueError("there is no gold answer to compare with")
    answer_declines = declines(answer, declining)
    references_decline = references == (CANNOT_ANSWER,)
    if answer_declines or references_decline:
        return float(answer_declines and references_decline)
    return score(answer, references)


def mean(observed: Iterable[float]) -> float:
    """
    The mean, the same to the last bit for any order.

    Raises:
        ValueError: *observed* is empty.
    """
    values = list(observed)
    if not values:
        raise ValueError("no observation to combine")
    return math.fsum(values) / len(values)


def _score(record: TurnRecord, declining: Sequence[str], score: AnswerScore) -> float:
    assert record.answer is not None
    return against_references(record.answer, record.gold_answers, declining, score)
