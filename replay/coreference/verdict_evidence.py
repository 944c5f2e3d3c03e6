"""
What the learned drift verdict weighs, in numbers: how a question's readings differ between two histories.

All of it is told by the two documents and the readings of their question; nothing depends on the
resolver but that it gives distributions.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from replay.core.drift_evidence import MENTION_KINDS, Mention, Reading
from replay.coreference.drift_hard import paired
from replay.coreference.resolver import Document
from replay.coreference.words import ASKS_FOR_MORE, FUNCTION_WORDS, comparable_words, content_words, words

_SOURCES = ("title", "name", "quote", "phrase", "words", "date", "answer", "clause", "list")


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


def differences(
    gold: Sequence[Reading],
    predicted: Sequence[Reading],
    gold_document: Document,
    predicted_document: Document,
) -> list[Difference]:
    """One for each mention of the question, in order of position."""
    pairs = [(one, other, _by_words(one), _by_words(other)) for one, other in paired(gold, predicted)]
    own, said = said_in(predicted_document), said_in(gold_document)
    lost = [_missing(one, after, own) if one != other else [] for one, other, _, after in pairs]
    gained = [_missing(other, before, said) if one != other else [] for one, other, before, _ in pairs]
    far, far_from_gold = _distances(lost, predicted_document), _distances(gained, gold_document)
    return [
        Difference(one, other, *_shares(gone, far), *_shares(came, far_from_gold), _apart(before, after))
        if one != other
        else Difference(one, other)
        for (one, other, before, after), gone, came in zip(pairs, lost, gained, strict=True)
    ]


_Missing = list[tuple[float, int, list[str]]]
"""Antecedents that a history lacks: probability, number of content words, and which of these are missing."""


def _missing(reading: Reading, other: Container[tuple[str, ...]], said: frozenset[str]) -> _Missing:
    """*reading*'s antecedents that aren't among the *other* side's and hold a word that isn't *said*."""
    found = []
    for probability, text in _distribution(reading):
        key = comparable_words(text)
        if key not in other:
            content = [word for word in key if word not in FUNCTION_WORDS]
            gone = [word for word in content if word not in said]
            if gone:
                found.append((probability, len(content), gone))
    return found


def _distances(found: Sequence[_Missing], document: Document) -> dict[str, float]:
    """How far each missing word lies from the nearest that the last two answers say, in [0, 1]."""
    from replay.coreference.vectors import number_of, vectors

    gone = list({word: None for missing in found for _, _, words in missing for word in words})
    rows = [rows for turn in document.turns[-2:] if len(rows := _meanings(turn.answer))]
    if not gone or not rows:
        return dict.fromkeys(gone, 1.0)
    meanings = vectors([number_of(word) for word in gone])
    nearest = [(meanings @ said.T).max(axis=1).tolist() for said in rows]
    return {word: 1 - max(0.0, *likeness) for word, *likeness in zip(gone, *nearest, strict=True)}


def _shares(missing: _Missing, far: Mapping[str, float]) -> tuple[float, float, float]:
    """The probability of what is missing; weighed by the share of words; weighed by distance in meaning."""
    lost = by_words = by_meaning = 0.0
    for probability, size, gone in missing:
        lost += probability
        by_words += probability * len(gone) / size
        by_meaning += probability * sum([far[word] for word in gone]) / len(gone)
    return lost, by_words, by_meaning


@lru_cache(maxsize=4096)
def _meanings(text: str) -> Any:
    from replay.coreference.vectors import rows_of

    return rows_of(sorted(set(content_words(text))))


def _apart(before: Mapping[tuple[str, ...], float], after: Mapping[tuple[str, ...], float]) -> float:
    alone = abs(sum(before.values()) - sum(after.values()))
    apart = sum(abs(p - after.get(key, 0.0)) for key, p in before.items())
    apart += sum(p for key, p in after.items() if key not in before)
    return min(1.0, (apart + alone) / 2)


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
        *(float(gold.mention.kind == kind) for kind in MENTION_KINDS),
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
        float(not ASKS_FOR_MORE.isdisjoint(said)),
        float("else" in said or "other" in said),
        float(said[:1] in (("and",), ("or",)) or "about" in said[:2]),
        float(any(word[0].isupper() for word in question.split()[1:])),
    )


@lru_cache(maxsize=64)
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
