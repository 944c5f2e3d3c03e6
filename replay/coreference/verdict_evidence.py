"""
What the learned drift verdict weighs, in numbers: how a question's readings differ between two histories.

All of it is told by the two documents and the readings of their question; nothing depends on the
resolver but that it gives distributions.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from replay.core.drift_evidence import Mention, MentionKind, Reading
from replay.core.history import Exchange
from replay.coreference.drift_hard import paired
from replay.coreference.resolver import Document
from replay.coreference.words import FUNCTION_WORDS, comparable_words, content_words, word_set, words

KINDS: tuple[MentionKind, ...] = (
    "he", "she", "they", "it", "this", "this-noun", "the-noun", "one", "there", "then", "ellipsis", "other",
)  # fmt: skip
_SOURCES = ("title", "name", "quote", "phrase", "words", "date", "answer", "clause", "list")
_ELSE = word_set("else other others another more additional further different besides also")


class Difference(msgspec.Struct, frozen=True):
    """One mention's two readings against each other; shares of probability, in [0, 1]."""

    gold: Reading
    predicted: Reading
    lost: float = 0.0
    """Of the gold-side antecedents that hold a word which the own history lacks."""
    lost_words: float = 0.0
    """As ``lost``, each antecedent counting by how much of it is missing."""
    lost_meaning: float = 0.0
    """As ``lost``, each by how far what is missing lies from what the own history says instead."""
    gained: float = 0.0
    """Of the predicted-side antecedents that hold a word which the gold history lacks."""
    gained_words: float = 0.0
    gained_meaning: float = 0.0
    apart: float = 0.0
    """Half the sum of the absolute differences of both distributions."""


class _Said(msgspec.Struct, frozen=True):
    """What a history says."""

    words: frozenset[str]
    turns: tuple[Exchange, ...]

    def missing(self, reading: Reading, other: Container[tuple[str, ...]]) -> tuple[float, float, float]:
        """
        Of *reading*'s antecedents that this history lacks a word of, and that aren't among the *other*
        side's: their probability; weighed by the share of words; weighed by distance in meaning.
        """
        lost = by_words = by_meaning = 0.0
        for probability, text in _distribution(reading):
            key = comparable_words(text)
            if key in other:
                continue
            content = [word for word in key if word not in FUNCTION_WORDS]
            gone = [word for word in content if word not in self.words]
            if gone:
                lost += probability
                by_words += probability * len(gone) / len(content)
                by_meaning += probability * self._distance(tuple(gone))
        return lost, by_words, by_meaning

    def _distance(self, gone: tuple[str, ...]) -> float:
        """How far the words *gone* lie from the nearest that the last answers say, in [0, 1]."""
        nearest = [0.0] * len(gone)
        for turn in self.turns[-2:]:
            if turn.answer:
                nearest = [max(pair) for pair in zip(nearest, _nearest(gone, turn.answer), strict=True)]
        return 1 - sum(nearest) / len(nearest)


@lru_cache(maxsize=8192)
def _nearest(gone: tuple[str, ...], answer: str) -> tuple[float, ...]:
    """For each word the cosine of the word of *answer* that is nearest in meaning, 0 at least."""
    from replay.coreference.vectors import number_of, vectors

    rows = _meanings(answer)
    if not len(rows):
        return (0.0,) * len(gone)
    likeness = vectors([number_of(word) for word in gone]) @ rows.T
    return tuple(max(0.0, float(most)) for most in likeness.max(axis=1))


@lru_cache(maxsize=4096)
def _meanings(text: str) -> Any:
    from replay.coreference.vectors import rows_of

    return rows_of(sorted(set(content_words(text))))


def differences(
    gold: Sequence[Reading],
    predicted: Sequence[Reading],
    gold_document: Document,
    predicted_document: Document,
) -> list[Difference]:
    """One for each mention of the question, in order of position."""
    said = _Said(said_in(gold_document), gold_document.turns)
    own = _Said(said_in(predicted_document), predicted_document.turns)
    return [_difference(one, other, said, own) for one, other in paired(gold, predicted)]


def _difference(gold: Reading, predicted: Reading, said: _Said, own: _Said) -> Difference:
    if gold == predicted:
        return Difference(gold, predicted)
    before, after = _by_words(gold), _by_words(predicted)
    alone = abs(sum(before.values()) - sum(after.values()))
    apart = sum(abs(p - after.get(key, 0.0)) for key, p in before.items())
    apart += sum(p for key, p in after.items() if key not in before)
    return Difference(
        gold,
        predicted,
        *own.missing(gold, after),
        *said.missing(predicted, before),
        min(1.0, (apart + alone) / 2),
    )


def _by_words(reading: Reading) -> dict[tuple[str, ...], float]:
    summed: dict[tuple[str, ...], float] = {}
    for probability, text in _distribution(reading):
        key = comparable_words(text)
        summed[key] = summed.get(key, 0.0) + probability
    return summed


def _distribution(reading: Reading) -> tuple[tuple[float, str], ...]:
    if reading.distribution or not (reading.antecedent or "").strip():
        return reading.distribution
    return ((1.0, reading.antecedent or ""),)


def evidence(found: Sequence[Difference], gold: Document, predicted: Document) -> list[list[float]]:
    """For each mention ``WIDTH`` numbers of about one's size."""
    most = max((each.lost for each in found), default=0.0)
    around = [*_histories(gold, predicted), *_question(gold.question), len(found) / 4]
    asked, own_asked = _asked_in(gold), _asked_in(predicted)
    return [
        [
            *_mention(each),
            each.lost - most,
            _share_asked(each.gold, asked),
            _share_asked(each.predicted, own_asked),
            *around,
        ]
        for each in found
    ]


def _asked_in(document: Document) -> frozenset[str]:
    """The words of the questions, the last one too."""
    questions = [*(turn.question for turn in document.turns), document.question]
    return frozenset[str]().union(*map(_words_of, questions))


def _share_asked(reading: Reading, asked: frozenset[str]) -> float:
    """The probability of the antecedents that the user has named."""
    return sum(p for p, text in _distribution(reading) if asked.issuperset(comparable_words(text)))


def _mention(each: Difference) -> list[float]:
    """How sure both readings were, what went and what came, and what kind of mention and thing it is."""
    gold, predicted = each.gold, each.predicted
    alone = 1 - sum(p for p, _ in gold.distribution)
    other_alone = 1 - sum(p for p, _ in predicted.distribution)
    return [
        *(float(gold.mention.kind == kind) for kind in KINDS),
        each.lost,
        each.gained,
        each.lost * each.gained,
        each.lost_words,
        each.lost_meaning,
        each.gained_words,
        each.gained_meaning,
        each.apart,
        _top(gold),
        _top(predicted),
        alone,
        other_alone,
        float(gold.antecedent is not None and gold.antecedent == predicted.antecedent),
        float(gold.antecedent is None),
        float(predicted.antecedent is None),
        *(float(gold.source == source) for source in _SOURCES),
        *(float(predicted.source == source) for source in _SOURCES),
        float(gold.mention.possessive),
    ]


def _top(reading: Reading) -> float:
    return reading.distribution[0][0] if reading.distribution else float(bool(reading.antecedent))


def _histories(gold: Document, predicted: Document) -> list[float]:
    """How the answers differ, the last one and the one before it."""
    pairs = list(zip(reversed(gold.turns), reversed(predicted.turns), strict=False))[:2]
    said, own = said_in(gold), said_in(predicted)
    numbers: list[float] = []
    for back in range(2):
        right, wrong = (turn.answer.strip() for turn in pairs[back]) if back < len(pairs) else ("", "")
        if right == wrong:
            numbers += [0.0] * 8
            continue
        meant, put = set(content_words(right)), set(content_words(wrong))
        gone = meant - own
        numbers += [
            1.0,
            len(meant & put) / max(1, len(meant)),
            len(meant & put) / max(1, len(put)),
            math.log1p(len(gone)) / 3,
            len(gone) / max(1, len(meant)),
            math.log1p(len(put - said)) / 3,
            math.log1p(len(put)) / 3,
            float(wrong.endswith("?")),
        ]
    return [*numbers, float(bool(gold.title)), math.log1p(len(gold.turns)) / 2]


@lru_cache(maxsize=8192)
def _question(question: str) -> tuple[float, ...]:
    said = words(question)
    content = content_words(question)
    return (
        len(said) / 10,
        len(content) / 5,
        float(len(content) == 0),
        float(len(content) == 1),
        float(not _ELSE.isdisjoint(said)),
        float("else" in said or "other" in said),
        float(said[:1] in (("and",), ("or",)) or "about" in said[:2]),
        float(any(word[0].isupper() for word in question.split()[1:])),
    )


def said_in(document: Document) -> frozenset[str]:
    """Every word of a document."""
    # Piece by piece, since most of a document's pieces stood in the one of the turn before, and no
    # word reaches over the space between two.
    return frozenset[str]().union(*map(_words_of, document.pieces()))


@lru_cache(maxsize=8192)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(words(text))


_NOBODY = Reading(mention=Mention(start=0, end=0, text="", kind="ellipsis"), antecedent=None)
_EMPTY = Document(question="Who?")
WIDTH = len(evidence([Difference(_NOBODY, _NOBODY)], _EMPTY, _EMPTY)[0])
