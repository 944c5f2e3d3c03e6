"""
``pred``: the recorded question after the system's own answers (Auto-Pred; Li et al., ACL 2022, section 4).

Nothing is mended, but drift is measured: how many recorded questions no longer make sense is the
figure that this policy is run for (23 % in the paper, table 4). Nothing asked depends on it, so that runs
measure it after the turns (``replay.results.late_drift``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.history import PlayedTurn, own_history
from replay.coreference.drift import DriftDetector
from replay.policies.policy import PlannedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class PredPolicy:
    """Own answers in the history, questions as recorded."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    detect: bool = True
    """Whether drift is measured; without it a stress test spends nothing on coreference."""

    @property
    def signature(self) -> str:
        return f"pred|{self.detector.signature}" if self.detect else "pred"

    @property
    def without_drift(self) -> PredPolicy | None:
        """Return this policy without drift detection; None if it has none."""
        return replace(self, detect=False) if self.detect else None

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        assessment = await self.detector.assess(conversation, depth, played) if self.detect else None
        return PlannedTurn(
            question=conversation.turns[depth - 1].question,
            history=own_history(played),
            edit="kept",
            drift=assessment.drift if assessment else None,
        )
