"""
Texts as the encoder reads them: the question, then the history from the newest exchange to the oldest.

Each text is a *segment* with a role. What doesn't fit is left out from its end: of the newest answer the
most is read, of older ones less, so that long answers don't push the rest of the history out.

Texts are cut into WordPiece tokens with their character offsets (Devlin et al., NAACL 2019; Wu et al., 2016,
section 4.1), lower case. Differs from BERT's own tokenizer in what English text doesn't hold: no rules for
Chinese characters, and pieces of other scripts are left out of the vocabulary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from replay.coreference.reading.resolver import Document

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_LONGEST_WORD = 40
"""In characters; a longer one is one unknown token, as everything in a wall of letters would be."""

_REMEMBERED_WORDS = 20_000


class WordPieceToken(NamedTuple):
    """One piece of a word, and where it stands."""

    id: int
    start: int
    end: int
    """Character offsets in the text, end exclusive."""
    is_first: bool
    """Whether a word begins with it."""


class WordPiece:
    """Cuts text into the pieces of a vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self.vocabulary = vocabulary
        self.start: int = vocabulary[START]
        self.end: int = vocabulary[END]
        self._unknown = vocabulary[UNKNOWN]
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    @classmethod
    def load(cls, path: Path) -> WordPiece:
        """Read the vocabulary in *path*, a piece a line."""
        return cls({piece: number for number, piece in enumerate(path.read_text("utf-8").splitlines())})

    def tokens(self, text: str) -> Iterator[WordPieceToken]:
        """Yield the pieces of *text* in order."""
        for word in _WORD.finditer(text):
            at, end = word.span()
            pieces = self._pieces_of(word[0])
            if sum(length for _, length in pieces) != end - at:  # accents that were several characters
                pieces = pieces[:1]
            for number, (piece, length) in enumerate(pieces):
                stop = end if number == len(pieces) - 1 else at + length
                yield WordPieceToken(piece, at, stop, number == 0)
                at = stop

    def _pieces_of(self, word: str) -> tuple[tuple[int, int], ...]:
        # Conversations repeat their words.
        pieces = self._known.get(word)
        if pieces is None:
            if len(self._known) >= _REMEMBERED_WORDS:
                self._known.clear()
            pieces = self._known[word] = self._cut(word)
        return pieces

    def _cut(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return the id and the length of each piece of *word*."""
        plain = _without_accents(word.lower())
        if not plain or len(plain) > _LONGEST_WORD:
            return ((self._unknown, len(word)),)
        pieces: list[tuple[int, int]] = []
        at = 0
        while at < len(plain):
            for end in range(len(plain), at, -1):
                piece = self.vocabulary.get(("##" if at else "") + plain[at:end])
                if piece is not None:
                    pieces.append((piece, end - at))
                    at = end
                    break
            else:
                return ((self._unknown, len(word)),)
        return tuple(pieces)


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


MAX_TOKENS = 224
MAX_PAIR = 144
"""Tokens of what a verdict is given on: more of the own history takes longer and tells no more."""
MAX_QUESTION = 48
_MAX_ANSWERS = (110, 64)
"""Tokens of the newest answer, and of the one before it; of older ones ``_MAX_OLDER``."""
_MAX_OLDER = 40
_MAX_TITLE = 20
"""Tokens of the title, and as many of the section."""
_MAX_BACKGROUND = 64
LONGEST_SPAN = 30
"""Tokens of what is meant."""
_LEAST = 3
"""A segment of fewer tokens isn't begun."""


class Role(IntEnum):
    """Whose words a token is part of."""

    QUESTION = 0
    ANSWER = 1
    ASKED = 2
    TITLE = 3
    BACKGROUND = 4
    READING = 5
    """What the question means in the recorded history; in a pair only."""
    RECORDED = 6
    """The recorded sentence around that."""


ROLES = len(Role)


@dataclass(frozen=True, slots=True)
class Segment:
    """One text of a sequence."""

    text: str
    role: Role
    first: int
    """Position of its first token in the sequence."""
    tokens: Sequence[WordPieceToken]
    turns_back: int = 0
    """Of an answer or an earlier question: 1 is the newest exchange."""

    def edges(self) -> tuple[list[bool], list[bool]]:
        """Return which tokens a span may begin and which it may end with: those of whole words, no stops."""
        tokens, text = self.tokens, self.text
        # "Journey (band)" is called "Journey".
        stop = text.find(" (") if self.role == Role.TITLE else -1
        named = len(text) if stop < 0 else stop
        begins = [
            t.is_first and t.end <= named and (text[t.start].isalnum() or text[t.start] in "$€£#@/-.~")
            for t in tokens
        ]
        lasts = [n + 1 == len(tokens) or tokens[n + 1].is_first for n in range(len(tokens))]
        ends = [
            is_last and t.end <= named and (text[t.end - 1].isalnum() or text[t.end - 1] in "%$€£+°#)")
            for t, is_last in zip(tokens, lasts, strict=True)
        ]
        return begins, ends


@dataclass(slots=True)
class TokenSequence:
    """What the encoder is given, and where it came from."""

    ids: list[int] = field(default_factory=list)
    roles: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    """The question first."""
    most: int = MAX_TOKENS

    @property
    def question(self) -> Segment:
        return self.segments[0]

    @property
    def history(self) -> Sequence[Segment]:
        return self.segments[1:]

    def add(self, pieces: WordPiece, text: str, role: Role, most: int, turns_back: int = 0) -> bool:
        """Append *text*, at most *most* tokens of it; return whether there was room."""
        room = min(most, self.most - len(self.ids) - 1)
        if not text.strip():
            return True
        if room < _LEAST:
            return False
        tokens: list[WordPieceToken] = []
        for token in pieces.tokens(text):
            if len(tokens) == room:
                break
            tokens.append(token)
        if not tokens:
            return True
        self.segments.append(Segment(text, role, len(self.ids), tokens, turns_back))
        self.ids += [token.id for token in tokens] + [pieces.end]
        self.roles += [role] * (len(tokens) + 1)
        return True


def sequence_of(pieces: WordPiece, document: Document) -> TokenSequence:
    """Return *document* as the encoder reads it."""
    found = _begin_sequence(pieces, document.question)
    add_history(found, pieces, document)
    return found


def _begin_sequence(pieces: WordPiece, question: str, most: int = MAX_TOKENS) -> TokenSequence:
    found = TokenSequence(ids=[pieces.start], roles=[Role.QUESTION], most=most)
    tokens = list(pieces.tokens(question))
    # Of a long message the end is the question.
    tokens = tokens[max(0, len(tokens) - MAX_QUESTION) :]
    found.segments.append(Segment(question, Role.QUESTION, 1, tokens))
    found.ids += [token.id for token in tokens] + [pieces.end]
    found.roles += [Role.QUESTION] * (len(tokens) + 1)
    return found


def add_history(found: TokenSequence, pieces: WordPiece, document: Document) -> None:
    """Append what was said before, the newest first; title and section behind the newest exchange."""
    for back, turn in enumerate(reversed(document.turns), 1):
        most = _MAX_ANSWERS[back - 1] if back <= len(_MAX_ANSWERS) else _MAX_OLDER
        if not found.add(pieces, turn.answer, Role.ANSWER, most, back):
            break
        if not found.add(pieces, turn.question, Role.ASKED, _MAX_OLDER, back):
            break
        if back == 1:
            _add_heading(found, pieces, document)
    if not document.turns:
        _add_heading(found, pieces, document)
    found.add(pieces, document.background, Role.BACKGROUND, _MAX_BACKGROUND)


def _add_heading(found: TokenSequence, pieces: WordPiece, document: Document) -> None:
    # Two texts, since nothing is meant by the end of one with the beginning of the other.
    found.add(pieces, document.title, Role.TITLE, _MAX_TITLE)
    found.add(pieces, document.section, Role.TITLE, _MAX_TITLE)


_SENTENCE_END = re.compile(r"[.!?] |\n")
_MAX_READING = 24
_MAX_RECORDED = 40


def pair_of(pieces: WordPiece, gold: Document, own: Document, meant: Sequence[str]) -> TokenSequence:
    """
    Return what a verdict is given on: the question, what it means in *gold*, and the *own* history.

    *meant* are texts from the recorded history, the most telling first; the recorded sentence that the first
    of them stands in is read as well, or that in which nothing was found: the newest answer's beginning.
    """
    found = _begin_sequence(pieces, gold.question, MAX_PAIR)
    found.add(pieces, " & ".join(meant[:2]), Role.READING, _MAX_READING)
    found.add(pieces, _sentence_with(gold, meant[0] if meant else ""), Role.RECORDED, _MAX_RECORDED)
    add_history(found, pieces, own)
    return found


def _sentence_with(document: Document, text: str) -> str:
    """Return the newest recorded text's words around *text*, at most some forty."""
    for turn in reversed(document.turns):
        for said in (turn.answer, turn.question):
            at = said.find(text) if text else (0 if said.strip() else -1)
            if at >= 0:
                start = max((m.end() for m in _SENTENCE_END.finditer(said, 0, at)), default=0)
                return said[start : at + len(text) + 120]
    return ""
