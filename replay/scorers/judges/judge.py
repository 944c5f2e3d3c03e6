"""
The protocol of a judge: it puts prompts about one case to one voter and reads numbers from the replies.

Who is asked, how politely, how often and what becomes of several votes is not its business: a ``Panel``
does that for every judge alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from replay.core.adapter import ChatReply
from replay.core.conversation import Conversation, Turn
from replay.core.errors import AdapterError
from replay.core.history import Exchange, PlayedTurn, gold_history, own_history, reapply_view
from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE, Unscored

HistoryShown = Literal["gold", "own"]
"""Which answers stood in the history that the system saw."""
Level = Literal["turn", "dialogue"]
"""``turn``: a case is one answer in its context. ``dialogue``: a case is a whole conversation, and its
verdict stands at the conversation's last turn."""
Voting = Literal["majority", "mean"]
"""How several voters become one number: by majority for yes and no, by the mean on a scale."""
Value = float | Unscored
RECORDED = "recorded"
"""The policy of turns that a file holds: the user's words there answer those of the judged system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one verdict is about."""

    conversation: Conversation
    records: tuple[TurnRecord, ...]
    """One system's turns of the conversation under one policy, by depth, up to the judged one."""
    history_shown: HistoryShown = "own"

    @property
    def record(self) -> TurnRecord:
        """The judged turn; the last one where a whole conversation is judged."""
        return self.records[-1]

    @property
    def turn(self) -> Turn:
        """The judged turn as the data has it."""
        return self.conversation.turns[self.record.depth - 1]

    @property
    def history(self) -> tuple[Exchange, ...]:
        """Return the history that the system was shown before the judged turn."""
        if self.history_shown == "gold":
            history = gold_history(self.conversation, self.record.depth)
        else:
            history = self.exchanges(self.records[:-1])
        return reapply_view(history, self.record.history_cut)

    def exchanges(self, records: Sequence[TurnRecord]) -> tuple[Exchange, ...]:
        """Return *records* as a dialogue, with gold answers in place of failed asks."""
        turns = self.conversation.turns
        return own_history(
            [
                PlayedTurn(
                    turn=turns[r.depth - 1],
                    asked=r.asked,
                    answer=turns[r.depth - 1].gold_answer if r.failed else r.answer,
                    steps=r.steps if r.interventions else (),
                )
                for r in records
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One of the numbers that a judge gives."""

    name: str = ""
    """Added to the judge's name in tables (``claims.recall``); empty for a judge of one number."""
    voting: Voting
    unit: str = SHARE
    """``share``, or empty for points on a scale."""
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one voter thinks of one case."""

    values: Mapping[str, Value]
    """By the output's name; one for each of the judge's outputs."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """How the values came about, beside the replies themselves; JSON values."""
    flags: tuple[str, ...] = ()
    """What makes them doubtful, in a few words each, as often as it happened; a report counts equal ones."""


class AskJudge(Protocol):
    """Puts one prompt to one voter."""

    async def __call__(
        self,
        step: str,
        prompt: str,
        *,
        parameters: Mapping[str, Any],
        sample: int = 0,
        once: bool = False,
    ) -> ChatReply:
        """
        Return the reply, from the cache if it is there.

        *step* names what is asked for (``factual.verification``): in the evidence, and as the id of the
        conversation that the adapter sees. *sample* tells several asks of one prompt apart. With *once*
        the same prompt is asked a single time for all cases and repeats.

        Raises:
            AdapterError: no reply came.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAsk:
    """An ask that a case will, or may, lead to."""

    prompt: str
    parameters: Mapping[str, Any]
    sample: int = 0
    completion_tokens: int
    """About how long the reply will be."""
    certain: bool = True
    """False for one that depends on an earlier reply; its prompt is then a stand-in."""
    once: bool = False
    after: Callable[[str], str] | None = None
    """Makes the prompt out of the reply to the last ask with ``once`` before it; ``prompt`` stands in
    where that isn't known yet."""


@runtime_checkable
class Judge(Protocol):
    """One way of judging. Settings that stay as they are; everything else comes with the call."""

    @property
    def level(self) -> Level: ...

    @property
    def outputs(self) -> Sequence[Output]:
        """The numbers it gives, in the order of the table's columns."""
        ...

    @property
    def needed_parameters(self) -> Sequence[str]:
        """Parameters without which it can't work; every voter's adapter must be able to pass them on."""
        ...

    def why_not(self, case: Case) -> Unscored | None:
        """Return why *case* can't be judged, as far as that is known without asking; None if it can."""
        ...

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        """Return the asks that judging *case* takes of each voter, for an estimate."""
        ...

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        """
        Return one voter's opinion. A failed ask is an ``Unscored`` value, as ``failed`` words it.

        Raises:
            UnfitVoterError: the voter can't serve this judge.
            PromptError: a prompt can't be filled in for this case.
        """
        ...

    @property
    def signature(self) -> str:
        """Every setting that can move its numbers, without the voters: ``correctness:...``; one word."""
        ...


class UnfitVoterError(Exception):
    """
    A voter's reply lacks what the judge can't do without, and so will its next ones.

    The opinion is unscored with the message as its reason. After a few of them the voter isn't asked
    any more.
    """


def ask_failure(error: AdapterError) -> Unscored:
    """
    Return the reason for an ask without a reply.

    Short, since reports count equal reasons. The error's own words are kept with the verdict.
    """
    return Unscored(reason=f"judge {error.outcome}")
