"""The record: all that is known of one turn of one conversation, played by one system under one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from replay.conversation import Passage
from replay.evidence import Drift

Outcome = Literal[
    "answered", "timed-out", "refused", "rate-limited", "bad-reply", "connection-failed", "skipped"
]
"""How an ask ended; ``skipped`` is a question that the ``filter`` policy did not ask."""

Edit = Literal["kept", "rewritten", "replaced", "augmented", "not-found", "rewrite-failed", "filtered"]
"""What a policy did to the recorded question. Asked as recorded though it should have been changed:
``not-found``, since the data set has no standalone form, and ``rewrite-failed``, since the rewriter
gave none that could be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as the system counted them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """
    Moments of one ask, in seconds since the engine started.

    Taken around the wire with a monotonic clock; of the last attempt when there were several.
    """

    scheduled_s: float
    """When the ask was due: as soon as it was planned, in a closed-loop run."""
    sent_s: float
    done_s: float
    """Last byte of the reply, or the moment of failure."""
    first_byte_s: float | None = None
    first_token_s: float | None = None

    @property
    def latency_s(self) -> float:
        """Sent to last byte."""
        return self.done_s - self.sent_s


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """
    One asked (or skipped) turn.

    The history the system saw is not repeated here: the policy and the earlier records of the
    same conversation, system and policy give it.
    """

    system: str
    policy: str
    conversation: str
    depth: int
    """1 for the first turn."""
    turn: str
    """The turn's id in the data set."""
    recorded: str
    """The question as recorded."""
    asked: str
    """The question as asked, after any edit."""
    edit: Edit
    edit_note: str | None = None
    """Why a rewriting failed."""
    drift: Drift | None
    """None where the policy doesn't compare histories (``gold``, ``augment``)."""
    outcome: Outcome
    answer: str | None
    """None unless the outcome is ``answered``."""
    error: str | None = None
    """What went wrong, in the adapter's words, and how to mend it."""
    gold_answers: tuple[str, ...] = ()
    gold_passages: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    """What the system says it retrieved, best first."""
    usage: Usage | None = None
    cost_usd: float | None = None
    attempts: int = 1
    """Asks made for this turn, retries included; 0 for a skipped turn."""
    timing: Timing | None = None
    """None for a skipped turn."""

    @property
    def failed(self) -> bool:
        """Asked, but no answer came."""
        return self.outcome not in ("answered", "skipped")
