"""
What a turn's asks were, one by one, from its record: when, and with which messages.

Where the caller keeps the history each ask sent all of it, and where the system does, the question alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay.core.conversation import Conversation
from replay.core.history import with_recorded_context
from replay.core.message import Message, ToolCall, question_messages
from replay.core.record import TurnRecord
from replay.play.turn_record import played_turn, unasked_turn
from replay.scorers.judges.judge import Case, HistoryShown


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTurn:
    """A turn, and what it has to be seen with."""

    record: TurnRecord
    conversation: Conversation
    before: Sequence[TurnRecord]
    """The play's earlier records, by depth."""
    history_shown: HistoryShown
    keeps_history: bool
    """The system keeps it."""

    def sent(self) -> tuple[Message, ...]:
        """Return the messages that put the question, and those before it that were sent along."""
        turn = self.conversation.turns[self.record.depth - 1]
        earlier = self.conversation.turns[: self.conversation.asked_from - 1]
        played = [*map(unasked_turn, earlier), *(played_turn(self.conversation, one) for one in self.before)]
        records = (*self.before, self.record)
        case = Case(conversation=self.conversation, records=records, history_shown=self.history_shown)
        history, asked_with = with_recorded_context(case.history, played, turn)
        question = question_messages(self.record.asked, asked_with)
        if self.keeps_history:
            return question
        return (*(message for exchange in history for message in exchange.messages), *question)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedAsk:
    """One ask of a turn, or one call of a tool between two."""

    begin_s: float
    end_s: float
    """Since the engine started."""
    number: int
    """Of the ask, from 0; of a tool's call the message's among the turn's steps."""
    steps: int
    """Messages of the turn before it."""
    reply: Message | None = None
    """What it brought; None of the ask that ended the turn."""
    tool: ToolCall | None = None
    """What was called, where it is no ask."""


def asks_of(record: TurnRecord) -> Iterator[TracedAsk]:
    """
    Yield the asks of *record* and the calls of tools between them, in order; none where nothing was asked.
    """
    timing, times = record.timing, record.step_times_s
    if timing is None:
        return
    if not times:
        yield TracedAsk(begin_s=timing.sent_s, end_s=timing.done_s, number=0, steps=0)
        return
    # An answer's own steps, which have no times, stand behind those of the turn.
    has_last = record.outcome == "answered" or len(times) > len(record.steps)
    number, calls, steps = 0, dict[str | None, ToolCall](), len(times) - has_last
    for place, message in enumerate(record.steps[:steps]):
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "user":  # what is said to a reply is no ask of the system, the one after it is
            continue
        if times[place] in times[place + 1 : steps]:  # what the system called by itself came with its reply
            continue
        begin_s, end_s = (timing.sent_s + moment for moment in times[place])
        tool = calls.get(message.tool_call_id) if message.role == "tool" else None
        yield TracedAsk(
            begin_s=begin_s,
            end_s=end_s,
            number=place if tool else number,
            steps=place,
            reply=message,
            tool=tool,
        )
        number += tool is None
    if has_last:
        begin_s, end_s = (timing.sent_s + moment for moment in times[-1])
        yield TracedAsk(begin_s=begin_s, end_s=end_s, number=number, steps=steps)
