"""
The two last steps from the network's numbers to a decision: does the question mean something else, and is an
edit for the better? Each is a logistic regression over a few of them, fitted on data that the network had not
seen. The first weighs what the network says of the pair of histories with what the own history still says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from replay.core.decoding import decode_as
from replay.core.drift_evidence import Reading
from replay.coreference.reading import network
from replay.coreference.reading.network import folder_in_use
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.sequence import pair_of
from replay.coreference.reading.words import comparable_words, content_words, words

FILE = "decisions.json"


class Logistic(msgspec.Struct, frozen=True):
    """A logistic regression."""

    coefficients: tuple[float, ...]
    intercept: float

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability of yes, in (0, 1)."""
        logit = self.intercept + sum(c * f for c, f in zip(self.coefficients, features, strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


class Decisions(msgspec.Struct, frozen=True):
    """What was fitted after the network."""

    verdict: Logistic
    edit: Logistic


@lru_cache(maxsize=2)
def load(folder: Path) -> Decisions:
    """Return the decisions that belong to the weights in *folder*."""
    return decode_as((folder / FILE).read_bytes(), Decisions)


def current() -> Decisions:
    """Return the decisions that belong to the weights in use."""
    return load(folder_in_use())


def lost_share(gold: Reading, said: frozenset[str]) -> float:
    """Return how much of what is meant in the recorded history has words that are not *said* in the own one,
    as a share of its probability in [0, 1]."""
    total = sum(p for p, _ in gold.distribution) or 1.0
    found = 0.0
    for probability, text in gold.distribution:
        key = content_words(text) or comparable_words(text)
        found += probability / total * sum(word not in said for word in key) / max(1, len(key))
    return found


def apart(gold: Reading, own: Reading) -> float:
    """Return the total variation distance of what is meant in the two histories, in [0, 1]."""
    before, after = _by_words(gold), _by_words(own)
    found = sum(abs(p - after.get(key, 0.0)) for key, p in before.items())
    found += sum(p for key, p in after.items() if key not in before)
    return min(1.0, found / 2)


def _by_words(reading: Reading) -> dict[tuple[str, ...], float]:
    total = sum(p for p, _ in reading.distribution) or 1.0
    summed: dict[tuple[str, ...], float] = {}
    for probability, text in reading.distribution:
        key = tuple(comparable_words(text))
        summed[key] = summed.get(key, 0.0) + probability / total
    return summed


def words_of(document: Document) -> frozenset[str]:
    """Return every word of *document*."""
    return frozenset(word for piece in document.pieces() for word in words(piece))


def verdict_features(logit: float, meant: Sequence[Reading], lost: Sequence[float]) -> list[float]:
    """
    Return the features that the verdict weighs.

    Args:
        logit: The network's output on the pair of histories.
        meant: The readings of the question's mentions.
        lost: How much of each reading's meaning the own history lacks, in [0, 1].
    """
    most = max(map(leaning, meant), default=0.0)
    weight = sum(map(leaning, meant)) or 1.0
    gone = sum(share * leaning(reading) for share, reading in zip(lost, meant, strict=True)) / weight
    return [max(-6.0, min(6.0, logit)), _logit(most), gone, gone * most]


def edit_features(place_probability: float, reading: Reading) -> list[float]:
    """Return what decides whether *reading*'s edit is made."""
    total = sum(p for p, _ in reading.distribution) or 1.0
    shares = [p / total for p, _ in reading.distribution]
    size = len((reading.distribution[0][1] if shares else "").split())
    mention = reading.mention
    return [
        _logit(place_probability),
        _logit(shares[0] if shares else 0.0),
        math.log1p(size),
        float(not mention.text),
        float(mention.kind == "other"),
        float(reading.source == "question"),
        float(size > 8),
    ]


def leaning(reading: Reading) -> float:
    """Return how probable it is that the mention means anything that was said, in [0, 1]."""
    return min(1.0, sum(p for p, _ in reading.distribution))


def _logit(probability: float) -> float:
    p = max(0.002, min(0.998, probability))
    return math.log(p / (1 - p))


def probability_of_drift(meant: Sequence[Reading], gold: Document, own: Document) -> float:
    """
    Return the probability in [0, 1] that a question means something else after the own history.

    Args:
        meant: The question's readings in *gold*.
        gold: The question with the recorded history.
        own: The question with the system's own history.
    """
    return current().verdict.probability(evidence(meant, gold, own))


def evidence(meant: Sequence[Reading], gold: Document, own: Document) -> list[float]:
    """Return the features that the verdict weighs; arguments as for ``probability_of_drift``."""
    reader = network.current()
    logit = float(reader.run(pair_of(reader.pieces, gold, own, list(texts_of(meant)))).verdict[0])
    said = words_of(own)
    return verdict_features(logit, meant, [lost_share(reading, said) for reading in meant])


def shares_of(pairs: Sequence[tuple[Reading, Reading]], own: Document) -> list[float]:
    """
    Return each mention's share in the question's probability, in [0, 1]; the largest is 1.

    *pairs* are the mentions' readings in the recorded history and in *own*, the latter empty where it was not
    looked at.
    """
    said = words_of(own)
    shares = [
        0.01 + max(lost_share(gold, said), apart(gold, after) if after.distribution else 0.0) * leaning(gold)
        for gold, after in pairs
    ]
    return [share / max(shares) for share in shares]


def texts_of(found: Sequence[Reading]) -> Iterator[str]:
    """Yield the most probable antecedents of *found*, from the mention that most probably leans."""
    leaning = sorted(found, key=lambda reading: -sum(p for p, _ in reading.distribution))
    for reading in leaning:
        if reading.distribution:
            yield reading.distribution[0][1]
