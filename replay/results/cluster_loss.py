"""What becomes of the plays of an actor that was lost."""

from __future__ import annotations

from dataclasses import replace

from replay.core.record import TurnRecord
from replay.play.play import Play
from replay.play.player import is_over
from replay.play.turn_record import OnFailure, turn_record
from replay.policies.policy import PlannedTurn
from replay.results.play_events import LOST
from replay.store.store import RunStore
from replay.workers.cluster.work_queue import LostWorker


def lost_sessions(loss: LostWorker, store: RunStore, on_failure: OnFailure) -> list[Play]:
    """
    Those plays whose session was lost with the process, since the system keeps the history; with what *store*
    has of them. Of a play that is over, the last word of it may have been lost alone.
    """
    kept = (play for play in loss.begun if play.system.adapter.history == "server")
    begun = (replace(play, records=_records(play, store)) for play in kept)
    return [play for play in begun if not is_over(play.conversation, play.records, on_failure)]


def _records(play: Play, store: RunStore) -> tuple[TurnRecord, ...]:
    return store.records_of(play.conversation.id, play.system.name, play.policy_name)


def lost_turn(play: Play, who: str) -> TurnRecord:
    """
    The record that ends *play*, whose session was lost with *who*: of its first turn without one. Those after
    it are never asked.
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


def keep_lost(store: RunStore, loss: LostWorker, *, restarted: int, aside: int) -> None:
    """Keep that a process was lost; so many of its plays begin anew, so many were put *aside*."""
    event = {
        "process": loss.child.job.worker + 1,
        "name": loss.child.name,
        "why": loss.why,
        "begun": len(loss.begun),
        "unfinished": len(loss.plays),
        "restarted": restarted,
        "aside": aside,
    }
    store.add_event(LOST, event)
