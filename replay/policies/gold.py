"""
``gold``: the recorded question after the gold history (Auto-Gold; Li et al., ACL 2022, section 3).

How conversations are commonly evaluated; no predicted answer is ever shown to the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.history import Played, gold_history
from replay.policies.policy import PlannedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPolicy:
    """Gold answers in the history, questions as recorded."""

    history: ClassVar[Literal["gold"]] = "gold"
    signature: ClassVar[str] = "gold"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[Played]) -> PlannedTurn:
        return PlannedTurn(
            question=conversation.turns[depth - 1].question,
            history=gold_history(conversation, depth),
            edit="kept",
        )
