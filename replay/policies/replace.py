"""
``replace``: an invalid question gives way to the data set's standalone form (Auto-Replace; Li et al.,
ACL 2022, section 5).

The standalone questions are written by people (CANARD for QuAC), so this is the upper bound for what
rewriting can mend. Where the data set has none, the question is asked as recorded and marked
``not-found``, as in the published program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.history import PlayedTurn, own_history
from replay.coreference.drift import DriftDetector
from replay.policies.policy import PlannedTurn
from replay.policies.standalone import standalone_question


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacePolicy:
    """Own answers in the history; an invalid question is replaced by its standalone form."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    always: bool = False
    """Replace every question, valid or not."""

    @property
    def signature(self) -> str:
        return f"replace{'+always' if self.always else ''}|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        turn = conversation.turns[depth - 1]
        drift = (await self.detector.assess(conversation, depth, played)).drift
        is_replaced = self.always or drift.invalid
        question, edit = standalone_question(turn) if is_replaced else (turn.question, "kept")
        return PlannedTurn(question=question, history=own_history(played), edit=edit, drift=drift)
