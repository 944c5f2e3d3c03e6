"""
``augment``: every question carries the gold information it leans on (AuEv, from a thesis on evaluating
conversational question answering).

Always, valid or not, so that a wrong answer earlier on can't break a question. With ``mode: resolve`` its
mentions are put as what they refer to in the gold history; with ``prefix`` a short clause from the
previous gold answer stands in front (``replay.policies.lead_in``); ``both`` does both. The history shown
is gold too, where the caller sends it; where the *system* keeps the history this is the only
gold-anchored policy that still works, because the gold information travels in the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import PlayedTurn, gold_history
from replay.core.record import Edit
from replay.core.settings.plugins import NestedChoice
from replay.coreference.drift import DriftDetector
from replay.policies.lead_in import PREFIX_WORDS, lead_in
from replay.policies.policy import PlannedTurn
from replay.policies.rewriter import (
    Rewriter,
    SubstitutionRewriter,
    build_rewriter,
    resolved_question,
)

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
