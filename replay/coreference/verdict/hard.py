"""
The hard drift rule, mention by mention: the two best antecedents share a content word, or they don't.

Unlike the published program (``replay.coreference.verdict.evalconvqa``), mentions are compared with
themselves, by their position in the question, and articles don't count as agreement. Distributions
are not looked at; ``replay.coreference.verdict.strict`` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.core.drift_evidence import Drift, MentionDrift, MentionState, Reading
from replay.coreference.reading.words import comparable_words, word_f1

MODE = "hard"
VERSION = 2
"""Raised whenever the same histories could get another verdict from the same readings."""


def compare(gold: Sequence[Reading], predicted: Sequence[Reading]) -> Drift:
    """
    Return the verdict on one question, read in the gold and in the system's own history.

    A mention is ``open`` when the gold history gives it no antecedent, ``lost`` when only the own
    history gives none, ``drifted`` when the two antecedents share no content word, else ``same``.
    The question is valid if and only if no mention is drifted or lost. Probabilities are 1 for those
    mentions and 0 for all others.
    """
    mentions = tuple(mention_drift(*pair) for pair in paired(gold, predicted))
    probability = max((m.probability for m in mentions), default=0.0)
    return Drift(valid=probability == 0, mentions=mentions, mode=MODE, probability=probability)


def paired(gold: Sequence[Reading], predicted: Sequence[Reading]) -> Iterator[tuple[Reading, Reading]]:
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
