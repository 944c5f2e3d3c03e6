"""Does the question still mean the same? The pair's network, weighed with what the own history still says."""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.drift_evidence import Reading
from replay.coreference.reading import decisions, network
from replay.coreference.reading.decode import texts_of
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.sequence import pair_of


def probability_of_drift(meant: Sequence[Reading], gold: Document, own: Document) -> float:
    """
    Return the probability in [0, 1] that a question means something else after the own history.

    Args:
        meant: The question's readings in *gold*.
        gold: The question with the recorded history.
        own: The question with the system's own history.
    """
    return decisions.current().verdict.probability(evidence(meant, gold, own))


def evidence(meant: Sequence[Reading], gold: Document, own: Document) -> list[float]:
    """Return the features that the verdict weighs; arguments as for ``probability_of_drift``."""
    reader = network.current()
    logit = float(reader.run(pair_of(reader.pieces, gold, own, list(texts_of(meant)))).verdict[0])
    said = decisions.words_of(own)
    return decisions.verdict_features(logit, meant, [decisions.lost(reading, said) for reading in meant])


def shares_of(pairs: Sequence[tuple[Reading, Reading]], own: Document) -> list[float]:
    """
    Return each mention's share in the question's probability, in [0, 1]; the largest is 1.

    *pairs* are the mentions' readings in the recorded history and in *own*, the latter empty where it was not
    looked at.
    """
    said = decisions.words_of(own)
    shares = [
        0.01
        + max(decisions.lost(gold, said), decisions.apart(gold, after) if after.distribution else 0.0)
        * decisions.leaning(gold)
        for gold, after in pairs
    ]
    return [share / max(shares) for share in shares]
