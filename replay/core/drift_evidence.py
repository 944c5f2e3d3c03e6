"""
What each mention of a question refers to, and whether that changed: the evidence kept in every record.

The comparison itself lives in ``replay.coreference``; these are the plain results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

MentionKind = Literal[
    "he", "she", "they", "it", "this", "this-noun", "the-noun", "one", "there", "then", "ellipsis", "other"
]
"""Pronouns by their class; a bare demonstrative; a demonstrative noun phrase ("that album"); a definite
noun phrase ("the band"); one of several that were said ("the second one", "the cheaper of them", "the
other"); a place ("there"); a time ("then", "by then"); what a question leaves out and needs ("What else
did he do?"), an empty span where it could be put; anything a resolver links beside these."""

MENTION_KINDS: tuple[MentionKind, ...] = get_args(MentionKind)

MentionState = Literal["same", "drifted", "lost", "open", "unread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An expression in a question that may refer to something said before."""

    start: int
    end: int
    """Character offsets in the question, end exclusive."""
    text: str
    kind: MentionKind
    possessive: bool = False
    """Whether a possessive is needed in its place ("her voice", not "saw her")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one mention refers to in one history."""

    mention: Mention
    antecedent: str | None
    """The best antecedent's text; None when the resolver leaves the mention alone."""
    source: str = ""
    """Where the antecedent was found, in the resolver's words ("title", "name", "clause", ...)."""
    distribution: tuple[tuple[float, str], ...] = ()
    """(probability, antecedent text), most probable first, where the resolver has one; the
    probabilities sum to at most 1, the rest being "refers to nothing before"."""
    put: str | None = None
    """What to put in the mention's place, in a resolver's own words; None leaves the wording to the
    rewriter."""
    put_at: tuple[int, int] | None = None
    """The characters of the question that give way to it, where these aren't the mention's."""
    worth: float = 1.0
    """The probability that this makes the question better, in [0, 1]; 1 where nobody estimates it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionDrift:
    """One mention read in both histories."""

    gold: Reading
    predicted: Reading
    state: MentionState
    """Of the two best antecedents. ``same``: they share a content word. ``drifted``: they share none.
    ``lost``: only the gold history gives one. ``open``: the gold history gives none. ``unread``: the verdict,
    that it means the same, needed no reading after the own history."""
    overlap: float
    """Word F1 of the two antecedents after normalization, in [0, 1]; 0 when either is missing."""
    probability: float = 0.0
    """That the two readings differ, in [0, 1]; 0 or 1 where the resolver gives no distributions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticSimilarity:
    """Cosines in [-1, 1], rounded to four digits; None where a text is missing or empty."""

    answers: float | None
    """Of the gold and the system's own answer to the turn before the question."""
    question_gold: float | None
    """Of the question and the gold history, as far as the window reaches."""
    question_predicted: float | None
    """Of the question and the system's own history."""

    def below(self, minimum: float) -> bool:
        """
        Return whether the answers are less alike than *minimum*, for a verdict.

        The question's cosines are no criterion: they may be low in the recorded conversation too,
        and identical histories have to stay valid.
        """
        return self.answers is not None and self.answers < minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Verdict on one question under the system's own history."""

    valid: bool | None
    """Whether it still means the same; None where it was not judged."""
    mentions: tuple[MentionDrift, ...]
    mode: str
    """The rule that gave the verdict: ``strict``, ``hard``, ``evalconvqa``, or ``llm`` for a model's own."""
    probability: float = 0.0
    """The largest of its mentions' probabilities."""
    semantic: SemanticSimilarity | None = None
    """How alike answers and histories are, where the scenario asks for it (``drift.semantic``)."""
    not_judged: str | None = None
    """Why it was not judged, in words ("the question is not English (German)"); what follows a colon is
    about this question alone."""
    shortened: int = 0
    """How many texts of the two histories were so long that they were read without their middle."""

    @property
    def invalid(self) -> bool:
        """Judged, and no longer meaning the same."""
        return self.valid is False

    @property
    def kind_not_judged(self) -> str:
        """Return the part of ``not_judged`` before the first colon, by which questions can be counted."""
        return (self.not_judged or "no reason given").partition(": ")[0]
