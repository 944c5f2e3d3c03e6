"""
``augment``: every question carries the gold information it leans on (AuEv, from a thesis on evaluating
conversational question answering).

Always, valid or not, so that a wrong answer earlier on can't break a question. With ``mode: resolve`` its
mentions are put as what they refer to in the gold history; with ``prefix`` a short clause from the previous
gold answer stands in front; ``both`` does both. The history shown is gold too, where the caller sends it;
where the *system* keeps the history this is the only gold-anchored policy that still works, because the
gold information travels in the question.

The person who asks with such a clause takes up what was said, as people do: a sentence stands as it is
("She was born in Port Ellis. What is it known for?"), a fragment before a colon ("In Port Ellis: What is it
known for?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from replay.core.conversation import CANNOT_ANSWER, Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import PlayedTurn, gold_history
from replay.core.record import Edit
from replay.core.settings.plugins import NestedChoice
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.rewriting import capitalize
from replay.coreference.reading.words import FUNCTION_WORDS, cut_sentence, is_clause, sentences, words
from replay.policies.policy import PlannedTurn
from replay.policies.rewrite import (
    Rewriter,
    SubstitutionRewriter,
    build_rewriter,
    resolved_question,
)

PREFIX_WORDS = 15

_UNKNOWN = frozenset(
    {
        CANNOT_ANSWER.lower(), "i don't know", "i do not know", "unknown", "unanswerable", "not known", "n/a",
        "none", "no answer", "no response",
    }
)  # fmt: skip
"""How data sets write that there is no answer."""
_SAYS_NOTHING = FUNCTION_WORDS | {"yes", "yeah", "nope", "sure", "ok", "okay", "maybe", "perhaps", "correct"}
# Bounded, since each line of a long run of empty ones would be looked through to its end.
_MARKUP = re.compile(r"^\s{0,99}+(?:#+|[-*•]|\d+[.)])\s+|\*\*|__|`", re.MULTILINE)


def lead_in(answer: str | None, max_words: int) -> str:
    """
    Return the part of *answer* to put before the next question, with a space at its end; may be empty.

    It is the first sentence that says more than yes or no, cut to *max_words* words: where a clause ends, or
    else after a word, with dots. An unknown answer gives an empty text.
    """
    text = _MARKUP.sub("", answer or "").strip()
    if not text or text.lower().rstrip(".!") in _UNKNOWN:
        return ""
    for sentence in sentences(text):
        if any(word not in _SAYS_NOTHING for word in words(sentence)):
            short = cut_sentence(sentence, max_words).rstrip(".!?") or _broken_off(sentence, max_words)
            end = "" if short.endswith("...") else "." if is_clause(short) else ":"
            return f"{capitalize(short)}{end} " if short else ""
    return ""


def _broken_off(sentence: str, max_words: int) -> str:
    kept = sentence.split()[:max_words]
    while len(kept) > 1 and kept[-1].lower() in FUNCTION_WORDS:
        kept.pop()
    return " ".join(kept).rstrip(",;:.(") + " ..."


AugmentMode = Literal["resolve", "prefix", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentPolicy:
    """Gold answers in the history where possible; questions say themselves what they lean on."""

    history: ClassVar[Literal["either"]] = "either"
    detector: DriftDetector
    mode: AugmentMode = "resolve"
    prefix_words: int = PREFIX_WORDS
    """Words at most that are put in front."""
    rewriter: Rewriter = field(default_factory=SubstitutionRewriter)
    """How mentions are resolved."""

    def __post_init__(self) -> None:
        if self.prefix_words < 1:
            raise ValueError(f"prefix_words: {self.prefix_words} is not a positive whole number")

    @property
    def signature(self) -> str:
        parts = [f"augment|mode:{self.mode}"]
        if self.mode != "resolve":
            parts.append(f"prefix_words:{self.prefix_words}")
        if self.mode != "prefix":
            parts += [f"rewriter:{self.rewriter.signature}", self.detector.signature]
        return "|".join(parts)

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        recorded = question = conversation.turns[depth - 1].question
        history = gold_history(conversation, depth)
        if self.mode != "prefix":
            resolved = await resolved_question(self.detector, self.rewriter, conversation, depth)
            if isinstance(resolved, Drift):
                return PlannedTurn(question=recorded, history=history, edit="kept", drift=resolved)
            question, note = resolved
            if note is not None:
                return PlannedTurn(question=recorded, history=history, edit="rewrite-failed", edit_note=note)
        if self.mode != "resolve" and depth > 1:
            question = lead_in(conversation.turns[depth - 2].gold_answer, self.prefix_words) + question
        edit: Edit = "kept" if question == recorded else "augmented"
        return PlannedTurn(question=question, history=history, edit=edit)


def augment_policy(
    *,
    detector: DriftDetector,
    folder: Path,
    mode: AugmentMode = "resolve",
    prefix_words: int = PREFIX_WORDS,
    rewriter: NestedChoice = "substitution",
) -> AugmentPolicy:
    """
    Return the policy from a scenario's settings.

    Args:
        detector: Reads the recorded conversation.
        folder: The folder that relative file names start from.
        mode: Whether to ``resolve`` the question, put a ``prefix`` before it, or ``both``.
        prefix_words: The most words that the prefix takes of the recorded answer, at least 1.
        rewriter: The rewriter's name, or a mapping from its name to its settings.

    Raises:
        ScenarioError: the rewriter can't be built.
        ValueError: *prefix_words* is not positive.
    """
    made = build_rewriter(rewriter, folder)
    return AugmentPolicy(detector=detector, mode=mode, prefix_words=prefix_words, rewriter=made)
