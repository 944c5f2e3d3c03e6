"""Does the question still mean the same? The pair's network and the two readings, weighed."""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.drift_evidence import Reading
from replay.coreference.reading import decisions, network
from replay.coreference.reading.decode import texts_of
from replay.coreference.reading.sequence import pair_of
from replay.coreference.resolver import Document


def probability_of_drift(
    pairs: Sequence[tuple[Reading, Reading]], gold: Document, own: Document
) -> tuple[float, list[float]]:
    """
    Return how probable it is that the question means something else in *own*, and each mention's share in
    that.

    *pairs* are the mentions' readings in *gold* and in *own*. Shares are in [0, 1]; the largest is 1.
    """
    compared, features = evidence(pairs, gold, own)
    shares = [
        0.01 + max(c.lost, c.apart) * sum(p for p, _ in g.distribution)
        for c, (g, _) in zip(compared, pairs, strict=True)
    ]
    most = max(shares)
    return decisions.current().verdict.probability(features), [share / most for share in shares]


def evidence(
    pairs: Sequence[tuple[Reading, Reading]], gold: Document, own: Document
) -> tuple[list[decisions.Comparison], list[float]]:
    """Return the comparison of each of *pairs*, and what the verdict weighs."""
    reader = network.current()
    sequence = pair_of(reader.pieces, gold, own, list(texts_of([before for before, _ in pairs])))
    logit = float(reader.run(sequence).verdict[0])
    said = decisions.words_of(own)
    compared = [decisions.comparison(before, after, said) for before, after in pairs]
    return compared, decisions.verdict_features(logit, pairs, compared)
