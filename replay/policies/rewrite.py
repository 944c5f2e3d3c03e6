"""
``rewrite``: an invalid question is rewritten from the gold history (Auto-Rewrite; Li et al., ACL 2022,
section 5).

The system sees its own answers. When the recorded question drifted, its mentions are put as what they
refer to in the gold history; the rewritten question is asked and stays in the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.conversation import Conversation
from replay.coreference.drift import DriftDetector
from replay.history import Played, own_history
from replay.policies.policy import PlannedTurn
from replay.record import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePolicy:
    """Own answers in the history; an invalid question is rewritten."""

    detector: DriftDetector

    @property
    def history(self) -> Literal["own"]:
        return "own"

    @property
    def signature(self) -> str:
        return f"rewrite|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[Played]) -> PlannedTurn:
        recorded = conversation.turns[depth - 1].question
        assessment = await self.detector.assess(conversation, depth, played)
        question = recorded if assessment.drift.valid else assessment.rewritten
        # A question can be invalid and yet have no better wording (a reading too long to insert).
        edit: Edit = "kept" if question == recorded else "rewritten"
        return PlannedTurn(question=question, history=own_history(played), edit=edit, drift=assessment.drift)
