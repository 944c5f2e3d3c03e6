"""How much of a conversation a model is shown: whole exchanges, the newest ones, up to a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replay.core.history import Exchange
from replay.coreference.reading.resolver import LEFT_OUT, Document, shorten


def fit_histories(documents: Sequence[Document], characters: int) -> list[Document]:
    """
    Return *documents* with as many exchanges before their question as fit in *characters*.

    A background, question or answer longer than half of that is shortened in its middle, so that one exchange
    always fits. Where a history doesn't fit, the others are cut to as many exchanges, so that they stay
    comparable.

    Args:
        documents: The same question after one or more histories.
        characters: For each history, and for the background.

    Returns:
        The documents in their order; the same ones where everything fits.
    """
    shown = [_shortened(document, characters // 2 - len(LEFT_OUT)) for document in documents]
    fitting = [(_newest_that_fit(document.turns, characters), len(document.turns)) for document in shown]
    most = min((number for number, given in fitting if number < given), default=None)
    if most is None:
        return shown
    return [replace(one, turns=one.turns[max(0, len(one.turns) - most) :]) for one in shown]


def _newest_that_fit(turns: Sequence[Exchange], characters: int) -> int:
    left = characters
    for number, turn in enumerate(reversed(turns)):
        left -= len(turn.question) + len(turn.answer)
        if left < 0:
            return number
    return len(turns)


def _shortened(document: Document, longest: int) -> Document:
    texts = [document.background, *(text for turn in document.turns for text in (turn.question, turn.answer))]
    too_long = sum(len(text) > longest for text in texts)
    if not too_long:
        return document
    turns = tuple(
        Exchange(question=shorten(turn.question, longest), answer=shorten(turn.answer, longest))
        for turn in document.turns
    )
    return replace(
        document,
        background=shorten(document.background, longest),
        turns=turns,
        shortened=max(document.shortened, too_long),
    )
