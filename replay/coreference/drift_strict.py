"""
The drift verdict from distributions: how probable it is that a mention means something else now.

A question has drifted when one of its mentions means something else in the system's own history than
in the recorded one. A resolver that isn't sure says so with a distribution over antecedents, and a
verdict that looks at the best one alone throws that away: it jumps where two readings are almost
equally probable, and sees nothing where the best reading stays and the runner-up, which was right,
is gone. Here each side's whole distribution counts (``compare``). A resolver without distributions
gets the verdict of ``replay.coreference.drift_hard``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from replay.core.drift_evidence import Drift, Reading
from replay.coreference.drift_hard import mention_drift, paired
from replay.coreference.resolver import Document
from replay.coreference.words import comparable_words, content_words, words

MODE = "strict"
VERSION = 1
"""Raised whenever the same readings could get another verdict."""
THRESHOLD = 0.3
"""From this probability on a mention has drifted. Chosen on training folds; see docs/coreference.md."""
INTRUDER_WEIGHT = 0.6
"""What probability gained by something new counts, against probability lost. A new candidate that
looks better is weaker evidence than the loss of the old one, since most answers bring new names."""

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

    For each mention, the probability that its readings differ is the larger of

    - what is lost: the gold-side probability of the antecedents that hold a word which the own
      history lacks, and
    - ``INTRUDER_WEIGHT`` times what is gained: the predicted-side probability of the antecedents
      that hold a word which the gold history lacks.

    What each history says is looked up in its document. A mention without a distribution on either
    side has probability 1 when its best antecedents share no content word or only the gold side has
    one, else 0. Equal readings have probability 0.

    The question is valid if and only if every mention's probability is 0 or below *threshold* (by
    default ``THRESHOLD``). A mention's state is that of its two best antecedents, as under ``hard``;
    one that is ``same`` can have a high probability when much else was lost.
    """
    limit = THRESHOLD if threshold is None else threshold
    mentions = tuple(
        mention_drift(one, other, _probability(one, other, gold_document, predicted_document))
        for one, other in paired(gold, predicted)
    )
    most = max((mention.probability for mention in mentions), default=0.0)
    return Drift(valid=most == 0 or most < limit, mentions=mentions, mode=MODE, probability=most)


def _probability(
    gold: Reading, predicted: Reading, gold_document: Document, predicted_document: Document
) -> float | None:
    """That the readings differ, in [0, 1]; None where neither side has a distribution."""
    if gold == predicted:
        return 0.0
    if not gold.distribution and not predicted.distribution:
        return None
    before, after = _distribution(gold), _distribution(predicted)
    lost = _missing(before, after, _said(predicted_document))
    gained = _missing(after, before, _said(gold_document))
    return round(min(1.0, max(lost, INTRUDER_WEIGHT * gained)), _DIGITS)


def _distribution(reading: Reading) -> tuple[tuple[float, str], ...]:
    if reading.distribution or not (reading.antecedent or "").strip():
        return reading.distribution
    return ((1.0, reading.antecedent or ""),)


def _missing(
    distribution: Sequence[tuple[float, str]], other: Sequence[tuple[float, str]], said: frozenset[str]
) -> float:
    """The probability of the antecedents in *distribution* that the *other* side's history lacks."""
    keys = {comparable_words(text) for _, text in other}
    return sum(
        probability
        for probability, text in distribution
        if comparable_words(text) not in keys and not said.issuperset(content_words(text))
    )


def _said(document: Document) -> frozenset[str]:
    """Every word of a document."""
    # Piece by piece, since most of a document's pieces stood in the one of the turn before, and no
    # word reaches over the space between two.
    return frozenset[str]().union(*map(_words_of, document.pieces()))


@lru_cache(maxsize=4096)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(words(text))
