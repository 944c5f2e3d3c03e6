"""A turn that has begun and has no answer yet: the messages since its question, with what each took."""

from __future__ import annotations

import msgspec

from replay.core.message import Message
from replay.core.record import Intervention, Usage

TurnPlace = tuple[str, str, str, int]
"""A turn's conversation, system, policy and depth."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message between a question and its answer."""

    message: Message
    times_s: tuple[float, float]
    """Begin and end of what brought it, in seconds since the turn's first ask was sent: the ask of a system's
    message, the look-up or the function of a tool's."""
    is_reply: bool = False
    """It is what the system replied to an ask: it calls the tools whose results follow, or else a user
    follows
    it up."""
    intervention: Intervention | None = None
    """Of what a user said: why."""
    attempts: int = 0
    """Asks that brought it, retries included; 0 of a tool's, or from a cache."""
    usage: Usage | None = None
    cost_usd: float | None = None


class UnfinishedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was interrupted: while it was asked as a user worded it, or while tools were called."""

    asked: str
    """The question as asked: steps are of no use behind another one."""
    steps: tuple[Step, ...]
    """The first may be the question itself, where a user worded it."""

    @property
    def opening(self) -> Intervention | None:
        """The intervention in place of the recorded question; None where that was asked as it stands."""
        done = self.steps[0].intervention if self.steps else None
        return None if done is None or done.is_follow_up else done
