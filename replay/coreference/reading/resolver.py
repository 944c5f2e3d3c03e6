"""
The protocol of a coreference resolver, and the document it reads.

A resolver is a plain, deterministic function over a batch of documents: the result for one document
never depends on the others, on hash seeds or on batch sizes. It runs in a worker process
(``replay.coreference.service.service``), never on the event loop.

A resolver that only knows clusters (F-coref, LingMess) implements ``Resolver``. One that knows what
each mention of the question means, perhaps as a distribution, also implements ``MentionReader``;
for the others ``replay.coreference.reading.readings`` derives the readings from the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Reading
from replay.core.history import Exchange

T = TypeVar("T")

LONGEST_TEXT = 20_000
"""In characters. Of a longer title, background, question or answer a resolver reads the first and the last
half of so many, and a question that is longer itself is not judged: what a system answers must not decide how
long the reading of it takes."""
LEFT_OUT = "\n…\n"
"""Stands where the middle was; no name reaches over it."""

QUESTION_MARK = "<Q>"
"""Stands before the question in a document's text, as in the published program (Li et al., 2022)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A question with the history it is read in."""

    question: str
    turns: tuple[Exchange, ...] = ()
    """The last *window* exchanges, oldest first."""
    title: str = ""
    section: str = ""
    background: str = ""
    shortened: int = 0
    """How many of these texts stand here without their middle."""

    def text(self) -> str:
        """Return ``[title. section. background] question answer ... <Q> question``, joined by spaces."""
        return self.context() + self.question

    def context(self) -> str:
        """Return the document's text up to where the question starts."""
        return " ".join([*self._before_question(), ""])

    def pieces(self) -> list[str]:
        """Return the parts that ``text`` joins with spaces, the question last."""
        return [*self._before_question(), self.question]

    def _before_question(self) -> list[str]:
        heading = [f"{part.strip()}." for part in (self.title, self.section) if part.strip()]
        background = [self.background.strip()] if self.background.strip() else []
        said = [part.strip() for turn in self.turns for part in (turn.question, turn.answer) if part.strip()]
        return [*heading, *background, *said, QUESTION_MARK]


BackgroundUse = bool | Literal["alone"]
"""Title, section and background text, none of them, or the background text ``alone``."""


def recorded_document(
    conversation: Conversation, depth: int, *, window: int | None, background: BackgroundUse
) -> Document:
    """
    Return the document of a recorded question with the recorded turns before it.

    Args:
        conversation: The conversation.
        depth: The question's, 1 for the first.
        window: The number of turns before the question; None for all. An unknown gold answer is empty.
        background: Which parts of the background to include.
    """
    turns = [
        Exchange(question=turn.question, answer=turn.gold_answer or "")
        for turn in last_of(conversation.turns[: depth - 1], window)
    ]
    question = conversation.turns[depth - 1].question
    return document_of(conversation, question, turns, window=window, background=background)


def document_of(
    conversation: Conversation,
    question: str,
    turns: Sequence[Exchange],
    *,
    window: int | None,
    background: BackgroundUse,
) -> Document:
    """
    Return the document of a question: what a resolver reads.

    Texts around the question that are longer than ``LONGEST_TEXT`` are shortened to that.

    Args:
        conversation: The conversation, for its title, section and background.
        question: The question as asked.
        turns: The exchanges before it, oldest first.
        window: The number of these that are read, the newest ones; None for all.
        background: Which parts of the background to include.
    """
    titled = background is True
    heading = (
        conversation.title if titled else "",
        conversation.section if titled else "",
        conversation.background if background else "",
    )
    read = tuple(last_of(turns, window))
    texts = [*heading, *(text for turn in read for text in (turn.question, turn.answer))]
    if shortened := sum(len(text) > LONGEST_TEXT for text in texts):
        heading = (shorten(heading[0]), shorten(heading[1]), shorten(heading[2]))
        read = tuple(Exchange(question=shorten(turn.question), answer=shorten(turn.answer)) for turn in read)
    return Document(
        question=question,
        turns=read,
        title=heading[0],
        section=heading[1],
        background=heading[2],
        shortened=shortened,
    )


def last_of(turns: Sequence[T], window: int | None) -> Sequence[T]:
    """Return the last *window* of *turns*; all of them where that is None."""
    return turns if window is None else turns[max(0, len(turns) - window) :]


def shorten(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return *text*, without its middle where it has more than *longest* characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}{LEFT_OUT}{text[-half:]}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CharSpan:
    """Character offsets in a document's text, end exclusive."""

    start: int
    end: int


Cluster = tuple[CharSpan, ...]
"""Spans that refer to the same thing, in document order."""


@runtime_checkable
class Resolver(Protocol):
    """
    Finds which expressions of a document refer to the same thing.

    Building one is cheap, since the main process does it too, to check the settings and to know the
    signature; weights are loaded with the first call of ``resolve``, which happens in a worker.

    Where it has them, ``worth_caching`` says whether what it finds in recorded histories is kept on disk, and
    ``largest_batch`` how many documents it takes at a time.

    Questions in other languages than its ``languages`` are not judged: a set of codes as of
    ``reading.language.language_of``, None for any, English alone where it has no such attribute.
    """

    @property
    def signature(self) -> str:
        """Name and version, with every setting that can change a result, as in ``embedded-1``."""
        ...

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """Return the clusters of each document, ordered by their first span."""
        ...


@runtime_checkable
class MentionReader(Protocol):
    """A resolver that says of each mention in the question what it refers to."""

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """Return the readings of the question's mentions for each document, in order of position."""
        ...
