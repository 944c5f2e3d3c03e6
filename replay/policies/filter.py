"""
``filter``: an invalid question is not asked, only counted.

The published program's default (princeton-nlp/EvalConvQA), described nowhere in the paper. A skipped
turn leaves no trace in the system's history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.history import PlayedTurn, own_history
from replay.coreference.drift import DriftDetector
from replay.policies.policy import PlannedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterPolicy:
    """Own answers in the history; an invalid question is skipped."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector

    @property
    def signature(self) -> str:
        return f"filter|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        drift = (await self.detector.assess(conversation, depth, played)).drift
        return PlannedTurn(
            question=conversation.turns[depth - 1].question,
            history=own_history(played),
            edit="filtered" if drift.invalid else "kept",
            drift=drift,
        )
