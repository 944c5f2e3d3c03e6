"""
Does a question still mean the same? Its readings in the gold and in the system's own history, compared
mention by mention, by one of two rules.

``strict`` is learned: how probable it is that the question means something else now. The reader's network is
given the question, what it means in the recorded history, and the system's own history
(``sequence.pair_of``); what it says of them is weighed with how much of that meaning the own history still
says into a calibrated probability (``decisions``). What the question means in the own history is no part of
that: it is read where the question has drifted, to be shown. A resolver without distributions gets the
verdict of ``hard``.

``hard``: the two best antecedents share a content word, or they don't; distributions are not looked at.
Unlike in the published program (``evalconvqa``), mentions are compared with themselves, by their position in
the question, and articles don't count as agreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from replay.core.drift_evidence import Drift, MentionDrift, MentionState, Reading
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.words import comparable_words, word_f1

HARD = "hard"
HARD_VERSION = 2
"""Raised whenever the same histories could get another verdict from the same readings."""


def compare_hard(gold: Sequence[Reading], predicted: Sequence[Reading]) -> Drift:
    """
    Return the verdict on one question, read in the gold and in the system's own history.

    A mention is ``open`` when the gold history gives it no antecedent, ``lost`` when only the own
    history gives none, ``drifted`` when the two antecedents share no content word, else ``same``.
    The question is valid if and only if no mention is drifted or lost. Probabilities are 1 for those
    mentions and 0 for all others.
    """
    mentions = tuple(mention_drift(*pair) for pair in pair_readings(gold, predicted))
    probability = max((m.probability for m in mentions), default=0.0)
    return Drift(valid=probability == 0, mentions=mentions, mode=HARD, probability=probability)


def pair_readings(gold: Sequence[Reading], predicted: Sequence[Reading]) -> Iterator[tuple[Reading, Reading]]:
    """
    Yield (gold, predicted) reading of each mention, by its position in the question.

    A mention that only one side found counts as read without an antecedent on the other.
    """
    gold_at = {(r.mention.start, r.mention.end): r for r in gold}
    predicted_at = {(r.mention.start, r.mention.end): r for r in predicted}
    for place in sorted(gold_at | predicted_at, key=lambda place: (place[0], -place[1])):
        yield (
            gold_at.get(place) or _unread(predicted_at[place]),
            predicted_at.get(place) or _unread(gold_at[place]),
        )


def mention_drift(gold: Reading, predicted: Reading, probability: float | None = None) -> MentionDrift:
    """
    Return the drift of one mention by its best antecedents.

    Args:
        gold: The reading in the recorded history.
        predicted: The reading in the system's own history.
        probability: That the readings differ; by default 1 if the antecedents say so, else 0.
    """
    state: MentionState
    overlap = 0.0
    if not (gold.antecedent or "").strip():
        state = "open"
    elif not (predicted.antecedent or "").strip():
        state = "lost"
    else:
        overlap = word_f1(
            comparable_words(gold.antecedent or ""), comparable_words(predicted.antecedent or "")
        )
        state = "same" if overlap > 0 else "drifted"
    if probability is None:
        probability = float(state in ("drifted", "lost"))
    return MentionDrift(gold=gold, predicted=predicted, state=state, overlap=overlap, probability=probability)


def _unread(reading: Reading) -> Reading:
    return Reading(mention=reading.mention, antecedent=None)


STRICT = "strict"
STRICT_VERSION = 7
"""Raised whenever the same histories could get another verdict from the same readings."""
THRESHOLD = 0.5
"""From this probability on a question has drifted."""

_DIGITS = 6


def compare_strict(
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
    likely = drift_probability(gold, gold_document=gold_document, predicted_document=predicted_document)
    return decide_drift(gold, predicted, likely, predicted_document=predicted_document, threshold=threshold)


def drift_probability(
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


def decide_drift(
    gold: Sequence[Reading],
    predicted: Sequence[Reading],
    probability: float | None,
    *,
    predicted_document: Document,
    threshold: float | None = None,
) -> Drift:
    """
    Return the verdict on a question, as ``compare_strict`` does.

    Args:
        gold: Readings in the recorded history.
        predicted: Readings in the own history; may be empty if the question has not drifted.
        probability: The result of ``drift_probability``; None for the hard rule.
        predicted_document: The question with the own history.
        threshold: The probability of drift from which on the question is invalid; ``THRESHOLD`` by default.
    """
    if probability is None:
        return replace(compare_hard(gold, predicted), mode=STRICT)
    drifted = has_drifted(probability, threshold)
    pairs = list(pair_readings(gold, predicted if drifted else ()))
    shares = [0.0] * len(pairs)
    if probability:
        from replay.coreference.reading.decisions import shares_of

        shares = shares_of(pairs, predicted_document)
    mentions = (
        mention_drift(before, after, round(probability * share, _DIGITS))
        for (before, after), share in zip(pairs, shares, strict=True)
    )
    return Drift(
        valid=not drifted,
        mentions=tuple(
            one if drifted or one.state == "open" else replace(one, state="unread") for one in mentions
        ),
        mode=STRICT,
        probability=probability,
    )
