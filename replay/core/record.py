"""
The record: all that is known of one turn of one conversation, played by one system under one policy.

A turn that has begun and has no answer yet: the messages since its question, with what each took.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from replay.core.conversation import Passage
from replay.core.drift_evidence import Drift
from replay.core.expectation import Expectation
from replay.core.message import Message

Outcome = Literal[
    "answered",
    "timed-out",
    "refused",
    "rate-limited",
    "bad-reply",
    "connection-failed",
    "cut-off",
    "unfinished",
    "lost",
    "skipped",
]
"""How an ask ended. ``cut-off``: a reply had begun and ended before it was complete; ``unfinished``: the
system's calls of tools came to no answer; ``lost``: it may have been asked, by a node of a cluster that was
lost with the session in which the system kept the history; ``skipped``: a question that the ``filter``
policy did not ask."""

Edit = Literal[
    "kept",
    "rewritten",
    "replaced",
    "augmented",
    "not-found",
    "rewrite-failed",
    "filtered",
    "simulated",
    "ended",
]
"""What a policy did to the recorded question. Asked as recorded though it should have been changed:
``not-found``, since the data set has no standalone form, and ``rewrite-failed``, since the rewriter
gave none that could be used. Where nothing was recorded: ``simulated``, said by a user with a goal, and
``ended``, no turn but the conversation's end."""


RECORDED_WORSE, RECORDED_BETTER = "recorded.worse", "recorded.better"
"""The columns of scores that say whether an answer is worse, or better, than the recorded one: 1 if so."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as the system counted them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    """Those of the prompt that it had in its cache."""


Occasion = Literal["drifted", "asked-back", "refused", "not-understood", "misread", "failed", "simulated"]
"""Why the recorded question alone doesn't do: it means something else now; or the system, where the
recorded one did not, asked back, refused, did not understand, spoke of something else; or gave no answer; or
there is none (``simulated``)."""

Ending = Literal["goal-reached", "given-up", "turn-limit", "skip"]
"""Why a conversation without recorded questions is over: the user has what they wanted, or sees that they
won't get it; there have been as many turns as there may be; the user had no words that could be said."""
Move = Literal["rephrasing", "answer", "correction", "confirmation", "message", Ending]
"""What the user does about it. ``skip``: nothing, since there is nothing that they could say; ``message``:
what they say where nothing was recorded."""


class RejectedWording(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a user worded and that was not said."""

    text: str
    reason: str


class Intervention(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user did in a turn of which the recorded question no longer does."""

    occasion: Occasion
    evidence: str
    """What it was seen by, in words."""
    move: Move
    said: str | None = None
    """None where nothing was said."""
    source: str = ""
    """Where the words come from: ``standalone``, ``rewriting``, ``facts``, ``script``, ``model``, ..."""
    note: str | None = None
    """Why nothing was said."""
    rejected: tuple[RejectedWording, ...] = ()
    """What was worded before and failed a test of faithfulness, in order."""
    asks: int = 0
    """Asks of the model that words it; 0 where there is none, or all came from a cache."""
    cost_usd: float | None = None
    """What they cost in this run; None where nobody says."""

    @property
    def is_follow_up(self) -> bool:
        """Return whether it was said after a reply, and not in place of the recorded question."""
        return self.said is not None and self.occasion not in ("drifted", "simulated")


TOKEN_GAP_S = 1e-4
"""The unit of ``Timing.token_gaps_100us``."""


class ServerTimes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server says that it took, in seconds; None for what it doesn't say."""

    queue_s: float | None = None
    """Until it began to work on the request."""
    prefill_s: float | None = None
    """Reading the prompt, up to the first token."""
    decode_s: float | None = None
    """Writing the answer, from the first token on."""
    total_s: float | None = None
    dropped: int = 0
    """Values that were left out: no numbers, below 0, or longer than the ask as we timed it."""

    @property
    def own_s(self) -> float | None:
        """All of it, as far as it is known: the total, or the parts together where they are longer."""
        parts = [one for one in (self.queue_s, self.prefill_s, self.decode_s) if one is not None]
        return max(
            [*([] if self.total_s is None else [self.total_s]), *([sum(parts)] if parts else [])],
            default=None,
        )

    def plus(self, other: ServerTimes) -> ServerTimes:
        """Return the times of two asks together; a part that one of them doesn't say is None."""

        def sums(part: str) -> float | None:
            ours, theirs = getattr(self, part), getattr(other, part)
            return None if ours is None or theirs is None else ours + theirs

        return ServerTimes(
            queue_s=sums("queue_s"),
            prefill_s=sums("prefill_s"),
            decode_s=sums("decode_s"),
            total_s=sums("total_s"),
            dropped=self.dropped + other.dropped,
        )


class Timing(msgspec.Struct, frozen=True, kw_only=True):
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
    """First streamed piece with a text in it."""
    token_gaps_100us: tuple[int, ...] = ()
    """Of a streamed answer: the gaps between its pieces from the first to the last, in tenths of a
    millisecond; one less than there were pieces. Pieces that were read at once have no gap."""
    server: ServerTimes | None = None
    """What the server says; of several asks the sum, if all of their replies said something."""

    @property
    def latency_s(self) -> float:
        """Sent to last byte."""
        return self.done_s - self.sent_s

    @property
    def response_s(self) -> float:
        """Due to last byte: what a user would have waited who was there on time, whatever kept the
        ask from being sent (coordinated omission)."""
        return self.done_s - self.scheduled_s

    @property
    def lateness_s(self) -> float:
        """Due to sent: how late the generator was."""
        return self.sent_s - self.scheduled_s

    @property
    def ttft_s(self) -> float | None:
        """Sent to first token; None where the answer did not come in pieces."""
        return None if self.first_token_s is None else self.first_token_s - self.sent_s


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """
    One asked (or skipped) turn.

    The history the system saw is not repeated here: the policy and the earlier records of the
    same conversation, system and policy give it.
    """

    system: str
    policy: str
    conversation: str
    """Its id in the data, or the one given to it where a load run plays it once more."""
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
    """None where the policy doesn't compare histories (``gold``; ``augment``, where it can read it)."""
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
    """What the turn cost in this run: 0 where the answer, whose cost is known, came from a cache."""
    attempts: int = 1
    """Asks made for this turn, retries included; 0 for a skipped turn, or an answer from a cache."""
    asks: int = 1
    """The same without retries: several where the system called tools on its way; 0 for a skipped turn."""
    timing: Timing | None = None
    """None for a skipped turn, or an answer from a cache. Of several asks: the first one's sending, all else
    of the last one."""
    source: str | None = None
    """The conversation's id in the data where a load run plays it once more under another id."""
    partial: str | None = None
    """What had come of an answer that was cut off; it stands in no history and is not scored."""
    steps: tuple[Message, ...] = ()
    """What stood between the question and the answer: calls of tools and their results; where a user followed
    up, also the replies before the answer, and what was said to them."""
    step_times_s: tuple[tuple[float, float], ...] = ()
    """Where the system called tools: begin and end of what brought each of ``steps`` and, last, of the ask
    that ended the turn, in seconds since ``timing.sent_s``."""
    expect: tuple[Expectation, ...] = ()
    """What is expected of this turn."""
    repeat: int = 1
    """Which play of the conversation it is, from 1, where it is played several times (``play.repeats``)."""
    cached: bool = False
    """The answer came from a cache (``play.cache``): nothing was asked, so there are no times."""
    history_cut: str | None = None
    """What of the policy's history was not shown, as in ``exchanges 1 to 3``; None for nothing."""
    interventions: tuple[Intervention, ...] = ()
    """What a user did in the turn (``react``, ``simulate``), in order."""
    started_at: float | None = None
    """When the engine started, from which ``timing`` counts: seconds since 1970. None where nobody said."""
    kind: str = ""
    """What kind of question it is, in the data's words."""
    sessions_back: int | None = None
    """Sessions between the turn and its farthest evidence, as ``Conversation.distance_back`` counts them."""
    turns_back: int | None = None
    """Turns between them, likewise."""

    @property
    def recorded_conversation(self) -> str:
        """The conversation's id in the data. What is resampled: plays of one conversation are as little
        independent as its turns are."""
        return self.source or self.conversation

    @property
    def exchanges(self) -> int:
        """Return the number of exchanges with the system that the turn took; 0 for a skipped one."""
        follow_ups = sum(one.is_follow_up for one in self.interventions)
        return 0 if self.outcome == "skipped" else 1 + follow_ups

    @property
    def is_end(self) -> bool:
        """Return whether this is no turn, but a conversation's end, with the user's reason for it."""
        return self.edit == "ended"

    @property
    def failed(self) -> bool:
        """Asked, but no answer came."""
        return self.outcome not in ("answered", "skipped")


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
