"""What becomes of the plays of an actor that was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replay.core.record import TurnRecord
from replay.play.play import Play
from replay.play.player import is_over
from replay.play.turn_record import OnFailure, turn_record
from replay.policies.policy import PlannedTurn
from replay.store.store import RunStore


def lost_sessions(begun: Sequence[Play], store: RunStore, on_failure: OnFailure) -> list[Play]:
    """
    Return those plays whose session was lost with their actor, since the system keeps the history.

    They come with what *store* has of them. Of a play that is over, the last word of it may have been lost
    alone.
    """
    kept = (play for play in begun if play.system.adapter.history == "server")
    plays = (replace(play, records=_records(play, store)) for play in kept)
    return [play for play in plays if not is_over(play.conversation, play.records, on_failure)]


def _records(play: Play, store: RunStore) -> tuple[TurnRecord, ...]:
    return store.records_of(play.conversation.id, play.system.name, play.policy_name)


def lost_turn(play: Play, who: str) -> TurnRecord:
    """
    Return the record that ends *play*, whose session was lost with *who*: of its first turn without one.

    The turns after it are never asked.
    """
    conversation, system, depth = play.conversation, play.system.name, play.first_depth
    question = conversation.turns[depth - 1].question
    return turn_record(
        conversation,
        depth,
        PlannedTurn(question=question, history=(), edit="kept"),
        "lost",
        system=system,
        policy=play.policy_name,
        attempts=0,
        asks=0,
        source=play.source,
        repeat=play.repeat,
        error=f"{system}: {who} was lost, and with it the session in which the system keeps the history; "
        "ask again with: replay rerun --only outcome=lost",
    )
