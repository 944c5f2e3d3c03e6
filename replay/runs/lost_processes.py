"""Processes and nodes that were lost while they played: kept in the run, told with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.core.record import TurnRecord
from replay.play.play import Play
from replay.play.player import is_over
from replay.play.turn_record import OnFailure, turn_record
from replay.policies.policy import PlannedTurn
from replay.runs.processes.plays import Loss
from replay.store.store import RunStore

_LOST = "process-lost"
"""The event of one such process."""


def lost_turns(loss: Loss, store: RunStore, on_failure: OnFailure) -> list[TurnRecord]:
    """
    The records that end those plays whose session was lost with the process, since the system keeps the
    history: each is of the first turn that *store* has no record of, and those after it are never asked.
    """
    plays = (play for play in loss.begun if _keeps_history(play))
    kept = ((p, store.records_of(p.conversation.id, p.system.name, p.policy_name)) for p in plays)
    return [
        _lost_turn(play, len(records), loss.child.name)
        for play, records in kept
        if not is_over(play.conversation, records, on_failure)
    ]


def _lost_turn(play: Play, recorded: int, who: str) -> TurnRecord:
    conversation, system = play.conversation, play.system.name
    depth = conversation.asked_from + recorded
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


def _keeps_history(play: Play) -> bool:
    return play.system.adapter.history == "server"


def keep_lost(store: RunStore, loss: Loss, *, aside: int) -> None:
    """Keep that a process was lost; so many of its plays were put *aside*."""
    event = {
        "process": loss.child.job.worker + 1,
        "name": loss.child.name,
        "why": loss.why,
        "unfinished": len(loss.plays),
        "restarted": sum(map(_keeps_history, loss.begun)) - aside,
        "aside": aside,
    }
    store.add_event(_LOST, event)


def lost_remarks(store: RunStore) -> list[str]:
    """What became of the plays of processes that were lost, in words."""
    events = store.events(_LOST)
    return list(_remarks(events)) if events else []


def _remarks(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    unfinished, restarted, aside = (
        sum(event[what] for event in events) for what in ("unfinished", "restarted", "aside")
    )
    yield (
        f"Lost while they played: {'; '.join(dict.fromkeys(event['why'] for event in events))}. What was not "
        f"finished there, {unfinished:,} conversations, went on elsewhere after the last stored turn; a "
        "question that was under way was asked once more."
    )
    if restarted:
        yield f"{restarted:,} of them began anew: a system that keeps the history had lost its session."
    if aside:
        yield (
            f"{aside:,} of them were set aside with the outcome lost (cluster.lost_sessions): a system that "
            "keeps the history had lost its session; ask again with: replay rerun --only outcome=lost"
        )
