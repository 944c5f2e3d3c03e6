"""
The protocol of a policy: what history the system sees, and how the next question is put.

Policies from Li et al., *Ditch the Gold Standard* (ACL 2022), section 5, and a thesis on evaluating
conversational QA (``augment``); see each file.

Any policy can have its history cut before the system is shown it. Drift is judged as before, on what was
really said: whoever asks remembers the conversation, however little of it the system is shown. So shares of
invalid questions stay comparable between views, and ``rewrite`` mends what drifted and not what was cut;
what a system can't know for want of context shows in its scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import Exchange, HistoryView, PlayedTurn
from replay.core.record import Edit, Intervention, Occasion


class PlannedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The next turn as a policy wants it played."""

    question: str
    history: tuple[Exchange, ...]
    """What the system is shown; not sent where the system keeps the history itself."""
    edit: Edit
    """``filtered`` means: don't ask this question; ``ended``: the conversation is over."""
    drift: Drift | None = None
    edit_note: str | None = None
    """Why a rewriting failed."""
    interventions: tuple[Intervention, ...] = ()
    """What a user did in place of the recorded question."""
    history_cut: str | None = None
    """What was taken out of the history, as in ``exchanges 1 to 3``."""


@runtime_checkable
class Policy(Protocol):
    """Decides how each turn is played. Stateless: everything it needs comes with the call."""

    @property
    def history(self) -> Literal["gold", "own", "either"]:
        """
        Return whose answers are in the history that the policy is defined for.

        ``gold`` can't be had where the system keeps the history; ``either`` prefers gold but works
        with the system's own, because the gold information travels in the question.
        """
        ...

    @property
    def signature(self) -> str:
        """The policy's name with every setting that can change a number."""
        ...

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        """
        Plan the turn at *depth* (1-based), *played* being all turns before it, in order.

        Raises:
            ResolverError: the histories could not be compared.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenOccasion:
    """Something in a reply that a user does not leave at that."""

    occasion: Occasion
    evidence: str
    """The words that it was seen by; as they stand in the reply, where they do."""


class Reacting(Protocol):
    """
    A policy with a user who follows replies up.

    *played* ends with the turn under way, with the reply; where the ask failed that has no answer.
    """

    async def plan_again(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn], done: Intervention
    ) -> PlannedTurn:
        """
        Return the plan that was made with what the user has *done*, in an earlier session of the run.

        *played* are the turns before it.

        Raises:
            ResolverError: the histories could not be compared.
        """
        ...

    def occasion(
        self,
        conversation: Conversation,
        depth: int,
        played: Sequence[PlayedTurn],
        *,
        drift: Drift | None,
        so_far: Sequence[Intervention],
        failure: str | None,
    ) -> SeenOccasion | None:
        """Return why the user says something more in the turn at *depth*, planned with *drift*; None where
        they don't."""
        ...

    async def follow_up(
        self,
        conversation: Conversation,
        depth: int,
        played: Sequence[PlayedTurn],
        seen: SeenOccasion,
        drift: Drift | None,
    ) -> Intervention:
        """
        Return what the user does about it.

        Raises:
            ResolverError: what they would say could not be judged.
        """
        ...


def reacting(policy: Policy) -> Reacting | None:
    """Return who follows replies up under *policy*; None where nobody does."""
    found: Reacting | None = getattr(policy, "reacting", None)
    return found


def most_turns(policy: Policy) -> int | None:
    """
    Return how many turns a conversation takes at most under *policy*, which plays those with a goal and no
    recorded questions; None of one that plays recorded ones.
    """
    found: int | None = getattr(policy, "most_turns", None)
    return found


def asking(policy: Policy) -> Policy:
    """
    Return what asks the same as *policy* and gives no verdict, where nothing that it asks depends on one.

    A policy says so by an attribute ``without_drift``; it is itself what asks otherwise.
    """
    found: Policy | None = getattr(policy, "without_drift", None)
    return found or policy


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
