"""
The drift verdict, mention by mention.

A question has drifted when one of its mentions means something else in the system's own history
than in the recorded one. Unlike the published program (``replay.coreference.evalconvqa``), mentions
are compared with themselves, by their position in the question, and articles don't count as
agreement.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.coreference.words import comparable_words, word_f1
from replay.evidence import Drift, MentionDrift, MentionState, Reading

MODE = "strict"


def compare(gold: Sequence[Reading], predicted: Sequence[Reading]) -> Drift:
    """
    The verdict on one question, read in the gold and in the system's own history.

    A mention is ``open`` when the gold history gives it no antecedent, ``lost`` when only the own
    history gives none, ``drifted`` when the two antecedents share no content word, else ``same``.
    The question is valid if and only if no mention is drifted or lost. A mention that only one side
    found counts as read without an antecedent on the other.
    """
    gold_at = {(r.mention.start, r.mention.end): r for r in gold}
    predicted_at = {(r.mention.start, r.mention.end): r for r in predicted}
    mentions = tuple(
        compare_readings(
            gold_at.get(place) or _unread(predicted_at[place]),
            predicted_at.get(place) or _unread(gold_at[place]),
        )
        for place in sorted(gold_at | predicted_at, key=lambda place: (place[0], -place[1]))
    )
    return Drift(
        valid=all(m.state in ("same", "open") for m in mentions),
        mentions=mentions,
        mode=MODE,
    )


def compare_readings(gold: Reading, predicted: Reading) -> MentionDrift:
    """One mention's state, from its two readings."""
    overlap = 0.0
    state: MentionState
    if not (gold.antecedent or "").strip():
        state = "open"
    elif not (predicted.antecedent or "").strip():
        state = "lost"
    else:
        overlap = word_f1(
            comparable_words(gold.antecedent or ""), comparable_words(predicted.antecedent or "")
        )
        state = "same" if overlap > 0 else "drifted"
    return MentionDrift(gold=gold, predicted=predicted, state=state, overlap=overlap)


def _unread(reading: Reading) -> Reading:
    return Reading(mention=reading.mention, antecedent=None)
