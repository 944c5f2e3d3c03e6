"""What was said in talks with systems, as the conversations and records that everything else reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.record import Timing, TurnRecord
from replay.study.tasks import Assignment, TalkTurn

POLICY = "live"
"""Of records of talks: nothing was replayed."""


def live_id(about: str, assignment: int) -> str:
    """Return the id of the talk of *assignment* about the conversation of the data called *about*."""
    return f"{about}~{assignment}"


def live_records(
    assignment: Assignment, about: str, system: str, turns: Sequence[TalkTurn]
) -> list[TurnRecord]:
    """
    Return a record of each question of a talk to which an answer, or a failure, came.

    Its latency counts from the question; its source is *about*, with whose other talks it is resampled.
    """
    conversation = live_id(about, assignment.id)
    return [
        TurnRecord(
            system=system,
            policy=POLICY,
            conversation=conversation,
            depth=turn.depth,
            turn=f"{conversation}#{turn.depth}",
            recorded=turn.question,
            asked=turn.question,
            edit="kept",
            drift=None,
            outcome=turn.outcome,
            answer=turn.answer,
            error=turn.error,
            passages=turn.passages,
            attempts=turn.attempts,
            timing=None
            if turn.latency_s is None
            else Timing(scheduled_s=0.0, sent_s=0.0, done_s=turn.latency_s),
            source=about,
        )
        for turn in turns
        if turn.outcome is not None
    ]


def data_set_conversation(
    live: Conversation, turns: Sequence[Turn], origin: Mapping[str, object]
) -> Conversation:
    """Return *live* as a conversation of a data set: with *turns* that have gold answers, and its origin."""
    return replace(live, turns=tuple(turns), metadata={**live.metadata, "study": origin})


def live_conversation(about: Conversation, assignment: Assignment, turns: Sequence[TalkTurn]) -> Conversation:
    """
    Return the questions of a talk, without gold answers; title, passages and the like are those of *about*.
    """
    id = live_id(about.id, assignment.id)
    return replace(
        about,
        id=id,
        turns=tuple(Turn(id=f"{id}#{turn.depth}", question=turn.question) for turn in turns),
    )
