"""
``rewrite``: an invalid question is rewritten from the gold history (Auto-Rewrite; Li et al., ACL 2022,
section 5).

The system sees its own answers. When the recorded question drifted, it is put so that it means what it
meant in the gold history, by substitution or by another rewriter; the rewritten question is asked and
stays in the history. With ``always`` all others are put as ``augment`` puts them: only where the edit is
sure, since they may well be understood as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import PlayedTurn, own_history
from replay.core.record import Edit
from replay.core.settings.plugins import NestedChoice
from replay.coreference.drift import DriftDetector
from replay.policies.policy import PlannedTurn
from replay.policies.rewriter import (
    Rewriter,
    RewriteRequest,
    SubstitutionRewriter,
    attempted,
    build_rewriter,
    resolved_question,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePolicy:
    """Own answers in the history; an invalid question, or each, is rewritten."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    rewriter: Rewriter = field(default_factory=SubstitutionRewriter)
    always: bool = False
    """Rewrite every question that can be put better, valid or not."""

    @property
    def signature(self) -> str:
        name = "rewrite+always" if self.always else "rewrite"
        return f"{name}|rewriter:{self.rewriter.signature}|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        recorded = conversation.turns[depth - 1].question
        assessment = await self.detector.assess(conversation, depth, played)
        drift = assessment.drift
        question, note = recorded, None
        if self.always and assessment.published is None and not drift.invalid:
            resolved = await resolved_question(self.detector, self.rewriter, conversation, depth)
            question, note = (recorded, None) if isinstance(resolved, Drift) else resolved
        elif self.always or drift.invalid:
            request = RewriteRequest(
                conversation=conversation,
                depth=depth,
                readings=tuple(mention.gold for mention in drift.mentions),
                invalid=drift.invalid,
                published=assessment.published,
            )
            question, note = await attempted(self.rewriter, request)
        # A question can be invalid and yet have no better wording (a reading too long to insert).
        edit: Edit = "kept" if question == recorded else "rewritten"
        return PlannedTurn(
            question=question,
            history=own_history(played),
            edit="rewrite-failed" if note else edit,
            edit_note=note,
            drift=drift,
        )


def rewrite_policy(
    *, detector: DriftDetector, folder: Path, rewriter: NestedChoice = "substitution", always: bool = False
) -> RewritePolicy:
    """
    Return the policy from a scenario's settings.

    Args:
        detector: Judges whether a question still means the same.
        folder: The folder that relative file names start from.
        rewriter: The rewriter's name, or a mapping from its name to its settings.
        always: Whether every question is rewritten, not only those that have drifted.

    Raises:
        ScenarioError: the rewriter can't be built.
    """
    return RewritePolicy(detector=detector, rewriter=build_rewriter(rewriter, folder), always=always)
