"""
The drift verdict that is learned: how probable it is that a question means something else now.

The reader's network is given the question, what it means in the recorded history, and the system's own
history (``reading.sequence.pair_of``); what it says of them is weighed with both readings into a calibrated
probability (``reading.decisions``). A resolver without distributions gets the verdict of
``replay.coreference.drift_hard``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replay.core.drift_evidence import Drift, Reading
from replay.coreference import drift_hard
from replay.coreference.resolver import Document

MODE = "strict"
VERSION = 6
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
    is valid if and only if its probability is 0 or below *threshold* (by default ``THRESHOLD``). A mention's
    state is that of its two best antecedents, as under ``hard``; its probability is the question's, less
    where its two readings are nearer to each other than another mention's.
    """
    if not any(reading.distribution for reading in (*gold, *predicted)):
        return replace(drift_hard.compare(gold, predicted), mode=MODE)
    pairs = list(drift_hard.paired(gold, predicted))
    shares, question = [0.0] * len(pairs), 0.0
    if gold_document != predicted_document and any(reading.distribution for reading in gold):
        # ONNX Runtime is loaded by whoever judges, never by `replay --help`.
        from replay.coreference.reading.verdict import probability_of_drift

        question, shares = probability_of_drift(pairs, gold_document, predicted_document)
        question = round(question, _DIGITS)
    limit = THRESHOLD if threshold is None else threshold
    return Drift(
        valid=question == 0 or question < limit,
        mentions=tuple(
            drift_hard.mention_drift(before, after, round(question * share, _DIGITS))
            for (before, after), share in zip(pairs, shares, strict=True)
        ),
        mode=MODE,
        probability=question,
    )
