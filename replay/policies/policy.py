"""
The protocol of a policy: what history the system sees, and how the next question is put.

Policies from Li et al., *Ditch the Gold Standard* (ACL 2022), section 5, and a thesis on evaluating
conversational QA (``augment``); see each file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import Exchange, PlayedTurn
from replay.core.record import Edit


class PlannedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The next turn as a policy wants it played."""

    question: str
    history: tuple[Exchange, ...]
    """What the system is shown; not sent where the system keeps the history itself."""
    edit: Edit
    """``filtered`` means: don't ask this question."""
    drift: Drift | None = None
    edit_note: str | None = None
    """Why a rewriting failed."""
    history_cut: str | None = None
    """What was taken out of the history, as in ``exchanges 1 to 3``."""


@runtime_checkable
class Policy(Protocol):
    """Decides how each turn is played. Stateless: everything it needs comes with the call."""

    @property
    def history(self) -> Literal["gold", "own", "either"]:
        """
        Which answers stand in the history that the policy is defined for.

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


def asking(policy: Policy) -> Policy:
    """
    Return what asks the same as *policy* and gives no verdict, where nothing that it asks depends on one.

    A policy says so by an attribute ``without_drift``; it is itself what asks otherwise.
    """
    found: Policy | None = getattr(policy, "without_drift", None)
    return found or policy
