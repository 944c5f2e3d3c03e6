"""
What every scorer of an answer against reference answers shares: which turns it scores, how questions
without an answer count, and the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from replay.core.conversation import CANNOT_ANSWER
from replay.core.record import TurnRecord
from replay.scorers.answer_text import declines, quac_references
from replay.scorers.scorer import Unscored

AnswerScore = Callable[[str, Sequence[str]], float]
"""Takes an answer and one or more references; gives a number in [0, 1]."""

PairScores = Callable[[Sequence[tuple[str, str]]], Sequence[float | Unscored]]
"""Takes pairs of an answer and a reference; gives a number for each, or why there is none."""


def score_answers(
    records: Sequence[TurnRecord],
    declining: Sequence[str],
    score: AnswerScore,
    *,
    answerable_only: bool = False,
) -> list[float | Unscored]:
    """
    One score in [0, 1] for each record that has an answer and a reference, or why there is none.

    With *answerable_only* a question that counts as unanswerable by QuAC's rule has no score either.
    """
    return [
        why
        if (why := why_unscored_answer(record, declining, answerable_only)) is not None
        else _score(record, declining, score)
        for record in records
    ]


def score_pairs(
    records: Sequence[TurnRecord], declining: Sequence[str], score: PairScores, *, answerable_only: bool
) -> list[float | Unscored]:
    """
    As ``score_answers`` with the best pair of answer and reference, all pairs of all records at once.

    A record none of whose pairs has a score has none, for the first one's reason.
    """
    compared = [compared_texts(record, declining, answerable_only) for record in records]
    pairs = [
        (texts[0], reference) for texts in compared if isinstance(texts, tuple) for reference in texts[1]
    ]
    scores = iter(score(pairs) if pairs else ())
    observed: list[float | Unscored] = []
    for texts in compared:
        if not isinstance(texts, tuple):
            observed.append(texts)
            continue
        found = list(islice(scores, len(texts[1])))
        numbers = [one for one in found if not isinstance(one, Unscored)]
        observed.append(max(numbers) if numbers else found[0])
    return observed


def compared_texts(
    record: TurnRecord, declining: Sequence[str], answerable_only: bool
) -> Unscored | float | tuple[str, tuple[str, ...]]:
    """
    The record's answer and the references to hold it against, by QuAC's rule.

    Or the score, where the answer or the references decline; or why there is none.
    """
    if (why := why_unscored_answer(record, declining, answerable_only)) is not None:
        return why
    assert record.answer is not None
    references = quac_references(record.gold_answers, declining)
    answer_declines = declines(record.answer, declining)
    references_decline = references == (CANNOT_ANSWER,)
    if answer_declines or references_decline:
        return float(answer_declines and references_decline)
    return record.answer, references


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


def why_unscored_answer(
    record: TurnRecord, declining: Sequence[str], answerable_only: bool
) -> Unscored | None:
    """As ``why_unscored``; with *answerable_only* also ``unanswerable question``."""
    if (why := why_unscored(record)) is not None:
        return why
    if answerable_only and quac_references(record.gold_answers, declining) == (CANNOT_ANSWER,):
        return Unscored(reason="unanswerable question")
    return None


def answerable_signature(answerable_only: bool) -> str:
    """The end of a signature that says which questions are scored; empty for all of them."""
    return "|questions:answerable" if answerable_only else ""


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
