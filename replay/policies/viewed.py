"""
Any policy, with its history cut before the system is shown it.

Drift is judged as before, on what was really said: whoever asks remembers the conversation, however little
of it the system is shown. So shares of invalid questions stay comparable between views, and ``rewrite`` mends
what drifted and not what was cut; what a system can't know for want of context shows in its scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from replay.core.conversation import Conversation
from replay.core.history import HistoryView, PlayedTurn
from replay.policies.policy import PlannedTurn, Policy, Reacting, asking, most_turns, reacting


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewedPolicy:
    """*policy*, of whose history the system sees what *view* leaves."""

    policy: Policy
    view: HistoryView

    @property
    def history(self) -> Literal["gold", "own", "either"]:
        return self.policy.history

    @property
    def signature(self) -> str:
        # What a policy is ends at the first bar: one that shows less is no cell beside those that show all.
        name, bar, rest = self.policy.signature.partition("|")
        return f"{name}+history:{self.view}{bar}{rest}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        planned = await self.policy.plan(conversation, depth, played)
        history, cut = self.view.apply(planned.history, conversation.turns[depth - 1].session)
        return msgspec.structs.replace(planned, history=history, history_cut=cut)

    # What is asked of a policy beyond its protocol, where it has it.

    @property
    def detector(self) -> Any:
        return getattr(self.policy, "detector", None)

    @property
    def detect(self) -> bool:
        return getattr(self.policy, "detect", True)

    @property
    def rewriter(self) -> Any:
        return getattr(self.policy, "rewriter", None)

    @property
    def user(self) -> Any:
        return getattr(self.policy, "user", None)

    @property
    def most_turns(self) -> int | None:
        return most_turns(self.policy)

    @property
    def reacting(self) -> Reacting | None:
        return reacting(self.policy)

    @property
    def without_drift(self) -> ViewedPolicy | None:
        asks = asking(self.policy)
        return None if asks is self.policy else replace(self, policy=asks)
