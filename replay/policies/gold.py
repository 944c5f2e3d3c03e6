"""
``gold``: the recorded question after the gold history (Auto-Gold; Li et al., ACL 2022, section 3).

How conversations are commonly evaluated; no predicted answer is ever shown to the system. With
``question: standalone`` each turn is asked in the data set's standalone form, after the same history:
what better wording does where nothing can drift, which ``replace: {always: true}`` is held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from replay.core.conversation import Conversation
from replay.core.history import PlayedTurn, gold_history
from replay.policies.policy import PlannedTurn
from replay.policies.standalone import standalone_question


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPolicy:
    """Gold answers in the history; questions as recorded, or standalone."""

    history: ClassVar[Literal["gold"]] = "gold"
    question: Literal["recorded", "standalone"] = "recorded"
    """The history holds the recorded questions in either case."""

    @property
    def signature(self) -> str:
        return "gold" if self.question == "recorded" else "gold+standalone"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        turn = conversation.turns[depth - 1]
        history = gold_history(conversation, depth)
        if self.question == "recorded":
            return PlannedTurn(question=turn.question, history=history, edit="kept")
        question, edit = standalone_question(turn)
        return PlannedTurn(question=question, history=history, edit=edit)
