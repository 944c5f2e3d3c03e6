"""
Chooses an antecedent for each mention of a question with the learned networks.

Imports numpy, so that it is imported only when a resolver first reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from replay.core.drift_evidence import Mention
from replay.coreference.embedded.candidates import Candidate
from replay.coreference.embedded.choices import Choice, choice
from replay.coreference.embedded.features import describe
from replay.coreference.embedded.network import Ensemble
from replay.coreference.embedded.persons import Persons
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document

LEAST_PROBABILITY = 0.005
"""Less probable antecedents are left out of a distribution."""
LEAST_ELLIPSIS = 0.05
"""Where it is less probable than this that a question leaves anything out, nothing is said of it."""
_COUNTS = 0.001
"""Less probable candidates are not asked whether they can be meant, and count for nothing where one is."""
_DIGITS = 1e6
"""Probabilities are kept to a millionth, so that the last bits of a sum decide nothing."""


def read_document(document: Document, ensemble: Ensemble) -> tuple[Choice, ...]:
    """One choice per mention of the document's question, in order of position, with distributions."""
    scene = look_at(document)
    if not scene.candidates:
        return tuple(choice(mention, None) for mention in scene.mentions[:-1])
    table = ensemble.probabilities(describe(scene)).tolist()
    persons: Persons | None = None
    chosen = []
    for mention, probabilities in zip(scene.mentions, table, strict=True):
        if mention.kind in ("he", "she"):
            persons = persons or Persons(scene)
            probabilities = _possible(persons, mention, scene.candidates, probabilities)
        if mention.kind != "ellipsis" or 1 - probabilities[0] >= LEAST_ELLIPSIS:
            chosen.append(_chosen(mention, scene.candidates, probabilities))
    return tuple(chosen)


def _possible(
    persons: Persons, mention: Mention, candidates: Sequence[Candidate], probabilities: Sequence[float]
) -> list[float]:
    """
    *probabilities* without the candidates that *mention* can't mean.

    The others share what those had, in proportion; where there are none that count, the
    mention is left alone.
    """
    leave_alone, *given = probabilities
    kept = [
        p if p >= _COUNTS and persons.could_mean(mention, candidate) else 0.0
        for p, candidate in zip(given, candidates, strict=True)
    ]
    if kept == given:
        return [*probabilities]
    remaining = sum(kept)
    if remaining * _DIGITS < 1.0:
        return [1.0, *(0.0 for _ in kept)]
    grown = (1.0 - leave_alone) / remaining
    return [leave_alone, *(p * grown for p in kept)]


def _chosen(mention: Mention, candidates: Sequence[Candidate], probabilities: Sequence[float]) -> Choice:
    """The most probable reading; of equally probable ones the first, leaving alone before all."""
    # Cut off, not rounded: the sum never exceeds 1.
    leave_alone = math.floor(probabilities[0] * _DIGITS) / _DIGITS
    ranked = sorted(
        (-math.floor(p * _DIGITS) / _DIGITS, index)
        for index, p in enumerate(probabilities[1:])
        if p >= LEAST_PROBABILITY
    )
    distribution = tuple((-p, candidates[index].text) for p, index in ranked)
    best = candidates[ranked[0][1]] if ranked and -ranked[0][0] > leave_alone else None
    return choice(mention, best, distribution)
