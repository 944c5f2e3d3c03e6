"""What can be asked of a passage: a question, its answer's place, and what it shares with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.synthesis.documents.document import SourceSection

Kind = Literal[
    "definition", "effect", "object", "amount", "time", "place", "reason", "condition", "procedure", "yes-no",
    "list", "item", "cell", "difference",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTopic:
    """The phrase of a question that says what it is about."""

    text: str
    """As it stands in the question: "the cache"."""
    start: int
    """Offset in the question."""
    is_plural: bool = False
    is_owner: bool = False
    """Whether it can give way to a possessive: "the size of the cache"."""

    @property
    def key(self) -> str:
        """Return what equal topics share: the words without article, in small letters."""
        words = self.text.lower().split()
        return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an", "my") else words)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSetting:
    """A document or a heading that says where a question belongs."""

    text: str
    """As it is said before the question: "TLS", "installing the agent"."""
    key: str
    """What no other document or heading has."""
    is_told: bool
    """Whether the question says as much itself."""


def opened_by(question: str, settings: Sequence[str]) -> str:
    """Return *question* after its *settings*: "About TLS, joining a node: Is a key needed?"."""
    return f"About {', '.join(settings)}: {question}" if settings else question


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFact:
    """One question that needs no context, and its answer."""

    kind: Kind
    question: str
    """As it is asked where *settings* are clear."""
    answers: tuple[str, ...]
    """A span of the section's text; then shorter ones that answer as well."""
    start: int
    """Offset of the first answer in the section's text."""
    section: SourceSection
    topic: QuestionTopic | None = None
    frame: str = ""
    """The question with ``{}`` for *filler*; after one of a frame, others can be asked as "And ...?"."""
    filler: str = ""
    place: int = 0
    """For an item of a list: which one, from 1; else 0."""
    list_start: int = -1
    """For an item and for its list: where the list begins in the section's text."""
    reason_for: str = ""
    """For a reason: the yes-or-no question whose "Why?" it is."""
    is_denied: bool = False
    """Whether a yes-or-no question is answered by no."""

    act: str = ""
    """For an effect: what its subject does, as "storing a copy"; empty where that isn't plain."""
    more_of: str = ""
    """For "Besides storing a copy, what does the agent do?": the question whose "What else ...?" it is."""
    settings: tuple[QuestionSetting, ...] = ()
    """What its page tells, outermost first."""

    @property
    def standalone(self) -> str:
        """Return the question with its settings, where it doesn't say them: "About TLS: Is a key needed?"."""
        return opened_by(self.question, [one.text for one in self.settings if not one.is_told])

    @property
    def end(self) -> int:
        """Return the offset after the first answer in the section's text."""
        return self.start + len(self.answers[0])
