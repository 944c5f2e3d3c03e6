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
_DIGITS = 1e6
"""Probabilities are kept to a millionth, so that the last bits of a sum decide nothing."""


def read_document(document: Document, ensemble: Ensemble) -> tuple[Choice, ...]:
    """One choice per mention of the document's question, in order of position, with distributions."""
    scene = look_at(document)
    if scene is None:
        return ()
    if not scene.candidates:
        return tuple(choice(mention, None) for mention in scene.mentions)
    persons = Persons(scene)
    chosen = []
    for mention, (about, rows) in zip(scene.mentions, describe(scene), strict=True):
        probabilities = ensemble.probabilities(about, rows).tolist()
        possible = _possible(persons, mention, scene.candidates, probabilities)
        chosen.append(_chosen(mention, scene.candidates, possible))
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
        p if persons.could_mean(mention, candidate) else 0.0
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
    leave_alone, *kept = (math.floor(p * _DIGITS) / _DIGITS for p in probabilities)
    ranked = sorted(range(len(kept)), key=lambda index: (-kept[index], index))
    best = ranked[0]
    distribution = tuple(
        (kept[index], candidates[index].text) for index in ranked if kept[index] >= LEAST_PROBABILITY
    )
    return choice(mention, candidates[best] if kept[best] > leave_alone else None, distribution)
