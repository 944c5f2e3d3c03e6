"""
``rewrite``: an invalid question is rewritten from the gold history (Auto-Rewrite; Li et al., ACL 2022,
section 5).

The system sees its own answers. When the recorded question drifted, it is put so that it means what it
meant in the gold history, by substitution or by another rewriter; the rewritten question is asked and
stays in the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.history import Played, own_history
from replay.core.record import Edit
from replay.coreference.drift import DriftDetector
from replay.policies.policy import PlannedTurn
from replay.policies.rewriter import (
    Rewriter,
    RewriteRequest,
    RewriterSetting,
    SubstitutionRewriter,
    attempted,
    build_rewriter,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePolicy:
    """Own answers in the history; an invalid question is rewritten."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    rewriter: Rewriter = field(default_factory=SubstitutionRewriter)

    @property
    def signature(self) -> str:
        return f"rewrite|rewriter:{self.rewriter.signature}|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[Played]) -> PlannedTurn:
        recorded = conversation.turns[depth - 1].question
        assessment = await self.detector.assess(conversation, depth, played)
        drift = assessment.drift
        question, note = recorded, None
        if drift.invalid:
            request = RewriteRequest(
                conversation=conversation,
                depth=depth,
                readings=tuple(mention.gold for mention in drift.mentions),
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
    *, detector: DriftDetector, folder: Path, rewriter: RewriterSetting = "substitution"
) -> RewritePolicy:
    """
    The policy from a scenario's settings.

    Raises:
        ScenarioError: the rewriter can't be built.
    """
    return RewritePolicy(detector=detector, rewriter=build_rewriter(rewriter, folder))
