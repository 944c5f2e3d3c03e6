"""
The drift verdict that is learned: how probable it is that a question means something else now.

The reader's network is given the question, what it means in the recorded history, and the system's own
history (``reading.sequence.pair_of``); what it says of them is weighed with how much of that meaning the own
history still says into a calibrated probability (``reading.decisions``). What the question means in the own
history is no part of that: it is read where the question has drifted, to be shown. A resolver without
distributions gets the verdict of ``replay.coreference.verdict.hard``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replay.core.drift_evidence import Drift, Reading
from replay.coreference.reading.resolver import Document
from replay.coreference.verdict import hard

MODE = "strict"
VERSION = 7
"""Raised whenever the same histories could get another verdict from the same readings."""
THRESHOLD = 0.5
"""From this probability on a question has drifted."""

_DIGITS = 6


def compare(
    gold: Sequence[Reading],
    predicted: Sequence[Reading],
    *,
    gold_document: Document,
    predicted_document: Document,
    threshold: float | None = None,
) -> Drift:
    """
    Return the verdict on one question, read in the gold and in the system's own history.

    Equal documents have probability 0 and are valid, and so is a question that leans on nothing. The question
    is valid if and only if its probability is 0 or below *threshold* (by default ``THRESHOLD``). What it
    means in the own history is evidence, and looked at where it has drifted: a mention's state is then that
    of its two best antecedents, as under ``hard``; else it is ``unread``, or ``open`` where the gold history
    gives it no antecedent. A mention's probability is the question's, less where another mention lost more of
    what it meant.
    """
    likely = probability(gold, gold_document=gold_document, predicted_document=predicted_document)
    return verdict(gold, predicted, likely, predicted_document=predicted_document, threshold=threshold)


def probability(
    gold: Sequence[Reading], *, gold_document: Document, predicted_document: Document
) -> float | None:
    """
    Return the probability in [0, 1] that the question means something else after the own history.

    Returns:
        None if *gold* has no distributions: then the hard rule decides, which takes both readings.
    """
    if gold_document == predicted_document or not gold:
        return 0.0
    if not any(reading.distribution for reading in gold):
        return None
    # ONNX Runtime is loaded by whoever judges, never by `replay --help`.
    from replay.coreference.reading.decisions import probability_of_drift

    return round(probability_of_drift(gold, gold_document, predicted_document), _DIGITS)


def has_drifted(probability: float, threshold: float | None) -> bool:
    """Return whether a question of that *probability* counts as drifted."""
    return probability > 0 and probability >= (THRESHOLD if threshold is None else threshold)


def verdict(
    gold: Sequence[Reading],
    predicted: Sequence[Reading],
    probability: float | None,
    *,
    predicted_document: Document,
    threshold: float | None = None,
) -> Drift:
    """
    Return the verdict on a question, as ``compare`` does.

    Args:
        gold: Readings in the recorded history.
        predicted: Readings in the own history; may be empty if the question has not drifted.
        probability: The result of ``probability``; None for the hard rule.
        predicted_document: The question with the own history.
        threshold: The probability of drift from which on the question is invalid; ``THRESHOLD`` by default.
    """
    if probability is None:
        return replace(hard.compare(gold, predicted), mode=MODE)
    drifted = has_drifted(probability, threshold)
    pairs = list(hard.paired(gold, predicted if drifted else ()))
    shares = [0.0] * len(pairs)
    if probability:
        from replay.coreference.reading.decisions import shares_of

        shares = shares_of(pairs, predicted_document)
    mentions = (
        hard.mention_drift(before, after, round(probability * share, _DIGITS))
        for (before, after), share in zip(pairs, shares, strict=True)
    )
    return Drift(
        valid=not drifted,
        mentions=tuple(
            one if drifted or one.state == "open" else replace(one, state="unread") for one in mentions
        ),
        mode=MODE,
        probability=probability,
    )
