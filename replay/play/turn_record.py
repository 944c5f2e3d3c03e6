"""One turn that was played: its record, and what it leaves behind for the turns after it."""

from __future__ import annotations

from typing import Literal

from replay.core.adapter import ChatReply
from replay.core.conversation import Conversation, Turn
from replay.core.history import PlayedTurn
from replay.core.message import Message
from replay.core.record import Intervention, Outcome, Timing, TurnRecord, Usage
from replay.policies.policy import PlannedTurn

OnFailure = Literal["stop", "gold"]
"""``stop``: the conversation ends at its first failed ask. ``gold``: the gold answer stands in for the
missing one and the conversation goes on (it ends all the same where no gold answer is known)."""


def turn_record(
    conversation: Conversation,
    depth: int,
    planned: PlannedTurn,
    outcome: Outcome,
    *,
    system: str,
    policy: str,
    attempts: int = 1,
    asks: int = 1,
    reply: ChatReply | None = None,
    steps: tuple[Message, ...] = (),
    step_times_s: tuple[tuple[float, float], ...] = (),
    usage: Usage | None = None,
    cost_usd: float | None = None,
    error: str | None = None,
    partial: str | None = None,
    timing: Timing | None = None,
    source: str | None = None,
    repeat: int = 1,
    cached: bool = False,
    interventions: tuple[Intervention, ...] = (),
    started_at: float | None = None,
) -> TurnRecord:
    """
    Return the record of the turn at *depth* of *conversation*, asked as *planned*.

    *steps* came before those that the *reply* has itself; *usage* and *cost_usd* are those of all asks,
    *interventions* those after the first.
    """
    turn = conversation.turns[depth - 1]
    sessions_back, turns_back = conversation.distance_back(depth) if turn.evidence else (None, None)
    return TurnRecord(
        system=system,
        policy=policy,
        conversation=conversation.id,
        depth=depth,
        turn=turn.id,
        recorded=turn.question,
        asked=planned.question,
        edit=planned.edit,
        edit_note=planned.edit_note,
        drift=planned.drift,
        outcome=outcome,
        answer=None if reply is None else reply.text,
        error=error,
        gold_answers=turn.gold_answers,
        gold_passages=turn.gold_passages,
        passages=() if reply is None else reply.passages,
        usage=usage,
        cost_usd=cost_usd,
        attempts=attempts,
        asks=asks,
        timing=timing,
        source=source,
        partial=partial,
        steps=steps if reply is None else steps + reply.steps,
        step_times_s=step_times_s,
        expect=turn.expect,
        repeat=repeat,
        cached=cached,
        history_cut=planned.history_cut,
        interventions=planned.interventions + interventions,
        started_at=started_at,
        kind=turn.kind,
        sessions_back=sessions_back,
        turns_back=turns_back,
    )


def ends_conversation(record: TurnRecord, on_failure: OnFailure) -> bool:
    """Return whether nothing can be asked after *record*."""
    goes_on = on_failure == "gold" and record.gold_answers and record.outcome != "lost"
    return record.failed and not goes_on


def unasked_turn(turn: Turn) -> PlayedTurn:
    """Return a turn that isn't asked, but shown as recorded."""
    return PlayedTurn(turn=turn, asked=turn.question, answer=turn.gold_answer, steps=turn.steps)


def played_turn(conversation: Conversation, record: TurnRecord) -> PlayedTurn:
    """
    Return the turn as it stands in the system's own history after *record*.

    Of a failed turn that is the recorded answer with the recorded steps.
    """
    turn = conversation.turns[record.depth - 1]
    if record.failed:
        return PlayedTurn(turn=turn, asked=record.asked, answer=turn.gold_answer, steps=turn.steps)
    return PlayedTurn(turn=turn, asked=record.asked, answer=record.answer, steps=record.steps)
