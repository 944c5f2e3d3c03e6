"""
The drift verdict that is learned: how probable it is that a question means something else now.

A question has drifted when one of its mentions, or what it leaves out, means something else in the system's
own history than in the recorded one. How probable that is, a small network says of each mention, from both
readings' distributions and both histories (``replay.coreference.verdict_evidence``): what was lost and what
came, how far from it in meaning, how far back, who had named it. It has learned from recorded
conversations with wrong and with merely different answers. A resolver without distributions gets the
verdict of ``replay.coreference.drift_hard``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replay.core.drift_evidence import Drift, Reading
from replay.coreference import drift_hard
from replay.coreference.resolver import Document
from replay.coreference.verdict_evidence import differences, evidence

MODE = "strict"
VERSION = 3
"""Raised whenever the same histories could get another verdict from the same readings."""
THRESHOLD = 0.35
"""From this probability on a question has drifted. Of all it has the best F over questions that were not
learned from; see docs/coreference.md."""

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
    The verdict on one question, read in the gold and in the system's own history.

    Its probability is one minus the product of the mentions' probabilities of meaning the same. Equal
    documents have probability 0 and are valid. The question is valid if and only if its probability
    is 0 or below *threshold* (by default ``THRESHOLD``). A mention's state is that of its two best
    antecedents, as under ``hard``; one that is ``same`` can have a high probability when much else was
    lost.
    """
    if not any(reading.distribution for reading in (*gold, *predicted)):
        return replace(drift_hard.compare(gold, predicted), mode=MODE)
    found = differences(gold, predicted, gold_document, predicted_document)
    probabilities, question = [0.0] * len(found), 0.0
    if gold_document != predicted_document:
        # numpy is loaded by whoever judges, never by `replay --help`.
        from replay.coreference.small_network import DRIFT, probability_of_any, shipped

        probabilities = shipped(DRIFT).probabilities(evidence(found, gold_document, predicted_document))
        question = round(probability_of_any(probabilities), _DIGITS)
    limit = THRESHOLD if threshold is None else threshold
    return Drift(
        valid=question == 0 or question < limit,
        mentions=tuple(
            drift_hard.mention_drift(each.gold, each.predicted, round(probability, _DIGITS))
            for each, probability in zip(found, probabilities, strict=True)
        ),
        mode=MODE,
        probability=question,
    )


def threshold_for(precision: float) -> float:
    """
    From which probability on questions are called drifted so that *precision* of these are.

    As measured on questions that were not learned from; the highest threshold measured where none
    reached it.
    """
    from replay.coreference.small_network import DRIFT, shipped

    return shipped(DRIFT).threshold_for(precision)
