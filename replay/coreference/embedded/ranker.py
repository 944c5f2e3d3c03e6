"""
Chooses an antecedent for each mention of a question with the learned networks.

Imports numpy, so that it is imported only when a resolver first reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from replay.coreference.embedded.candidates import Candidate
from replay.coreference.embedded.choices import Choice, choice
from replay.coreference.embedded.features import describe
from replay.coreference.embedded.network import Ensemble
from replay.coreference.resolver import Document
from replay.evidence import Mention

LEAST_PROBABILITY = 0.005
"""Less probable antecedents are left out of a distribution."""
_DIGITS = 1e6
"""Probabilities are kept to a millionth, so that the last bits of a sum decide nothing."""


def read_document(document: Document, ensemble: Ensemble) -> tuple[Choice, ...]:
    """One choice per mention of the document's question, in order of position, with distributions."""
    described = describe(document)
    if not described.candidates:
        return tuple(choice(mention, None) for mention in described.mentions)
    return tuple(
        _chosen(mention, described.candidates, ensemble.probabilities(about, rows).tolist())
        for mention, about, rows in zip(
            described.mentions, described.about_mentions, described.about_candidates, strict=True
        )
    )


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
