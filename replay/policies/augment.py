"""
``augment``: every question carries the gold information it leans on (AuEv, from a thesis on evaluating
conversational question answering).

The question's mentions are put as what they refer to in the gold history, always, so that a wrong
answer earlier on can't break it. The history shown is gold too, where the caller sends it; where the
*system* keeps the history this is the only gold-anchored policy that still works, because the gold
information travels in the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.conversation import Conversation
from replay.coreference.drift import DriftDetector
from replay.coreference.rewriting import rewrite
from replay.history import Played, gold_history
from replay.policies.policy import PlannedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentPolicy:
    """Gold answers in the history where possible; mentions put as the gold history means them."""

    detector: DriftDetector

    @property
    def history(self) -> Literal["either"]:
        return "either"

    @property
    def signature(self) -> str:
        return f"augment|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[Played]) -> PlannedTurn:
        recorded = conversation.turns[depth - 1].question
        question = rewrite(recorded, await self.detector.gold_readings(conversation, depth))
        return PlannedTurn(
            question=question,
            history=gold_history(conversation, depth),
            edit="kept" if question == recorded else "augmented",
        )
