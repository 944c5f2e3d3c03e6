"""Tokens of a small vocabulary, and what a network might say of them, without any weights."""

from __future__ import annotations

import re
from typing import Self

import numpy as np

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
from replay.coreference.reading.decisions import Decisions, Logistic, edit_features, verdict_features
from replay.coreference.reading.network import ARTICLES, PREPOSITIONS, NetworkOutput
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.sequence import END, PAD, START, UNKNOWN, Segment, WordPiece, sequence_of

SURE = 9.0
WIDTH, PHRASE = 128, 64
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def pieces(*words: str) -> WordPiece:
    """A vocabulary of *words*; all others are cut into letters, and what is no letter or digit is a token."""
    signs = [*LETTERS, *"0123456789.,?!'’\"()-:$%"]
    known = [PAD, UNKNOWN, START, END, *signs, *(f"##{sign}" for sign in signs), *words]
    return WordPiece({piece: number for number, piece in enumerate(dict.fromkeys(known))})


def document(question: str, *said: str, **more: str) -> Document:
    """*question* after questions and answers in turn."""
    turns = tuple(Exchange(question=q, answer=a) for q, a in zip(said[::2], said[1::2], strict=True))
    return Document(question=question, turns=turns, **more)


def undecided(logit: float = 1.0) -> Decisions:
    """Every edit is as likely as not to be for the better; a verdict weighs the network's logit alone."""
    mention = Mention(start=0, end=0, text="", kind="ellipsis")
    edits = len(edit_features(0.5, Reading(mention=mention, antecedent=None)))
    pairs = len(verdict_features(0.0, [], []))
    return Decisions(
        verdict=Logistic(coefficients=(logit, *(0.0,) * (pairs - 1)), intercept=0.0),
        edit=Logistic(coefficients=(0.0,) * edits, intercept=0.0),
    )


class MadeUp:
    """What a network says of a document: that nothing leans on anything, but for what it is told to say."""

    def __init__(self, document: Document, *, cut: tuple[str, ...] = ()) -> None:
        """Every word is one token, but those that *cut* holds, which are cut into letters."""
        words = {word for text in document.pieces() for word in re.findall(r"[^\W_]+", text.lower())}
        self.sequence = sequence_of(pieces(*(words - set(cut))), document)
        size = len(self.sequence.ids)
        pointers = {
            name: np.zeros((size, WIDTH)) for name in ("from_start", "to_start", "from_end", "to_end")
        }
        self.output = NetworkOutput(
            tags=np.full((size, 3), -SURE),
            preposition=np.zeros((size, len(PREPOSITIONS))),
            article_here=np.zeros((size, len(ARTICLES))),
            article_there=np.zeros((size, len(ARTICLES))),
            capital=np.zeros(size),
            phrase_start=np.zeros((size, PHRASE)),
            phrase_end=np.zeros((size, PHRASE)),
            verdict=np.zeros(1),
            **pointers,
        )

    def position(self, text: str, segment: Segment | None = None) -> int:
        """Where *text* begins in *segment*, by default the question; empty text is behind its last token."""
        segment = segment or self.sequence.question
        if not text:
            return segment.first + len(segment.tokens)
        at = segment.text.index(text)
        return segment.first + next(n for n, token in enumerate(segment.tokens) if token.start >= at)

    def leans(self, before: str, logit: float = SURE, *, without: str = "", possessive: bool = False) -> Self:
        """Something has to be put before *before*, where *without* is left out."""
        position = self.position(before)
        self.output.tags[position, 0] = logit
        self.output.tags[position, 2] = SURE if possessive else -SURE
        if without:
            start = self.sequence.question.text.index(without)
            for n, token in enumerate(self.sequence.question.tokens):
                if start <= token.start and token.end <= start + len(without):
                    self.output.tags[self.sequence.question.first + n, 1] = SURE
        return self

    def means(self, before: str, text: str, score: float = 2 * SURE, *, segment: int = 0) -> Self:
        """What leans before *before* is *text*, in a segment of the history (0 is the newest answer)."""
        said = self.sequence.history[segment]
        start = said.text.index(text)
        inside = [n for n, t in enumerate(said.tokens) if t.start < start + len(text) and t.end > start]
        position, axis = self.position(before), self.position(before) % WIDTH
        for side, token in (("start", inside[0]), ("end", inside[-1])):
            getattr(self.output, f"from_{side}")[position, axis] = WIDTH**0.5
            getattr(self.output, f"to_{side}")[said.first + token, axis] = score / 2
        return self

    def puts(self, before: str, *, preposition: str = "", article: str = "") -> Self:
        """What is put before *before* comes with these words."""
        position = self.position(before)
        self.output.preposition[position, PREPOSITIONS.index(preposition)] = SURE
        self.output.article_here[position, ARTICLES.index(article)] = SURE
        return self

    def no_name(self, text: str, segment: int = 0) -> Self:
        """The word *text* of the history has no capital of its own."""
        self.output.capital[self.position(text, self.sequence.history[segment])] = -SURE
        return self
