"""What of a run is still to be played."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from replay.play.player import Play, is_over
from replay.runs.rerun_plan import Rerun
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore


def plays_left(assembly: Assembly, store: RunStore, rerun: Rerun | None) -> Iterator[Play]:
    """
    What *store* has no record of, and what *rerun* still has to ask.

    Conversation by conversation, so that their gold side is resolved once.
    """
    resuming = store.count_records() > 0
    for id in store.conversation_lengths():
        conversation = store.conversation(id)
        for system in assembly.systems:
            for name, policy in assembly.policies.items():
                play = Play(system=system, policy_name=name, policy=policy, conversation=conversation)
                if resuming:
                    yield from _rest(play, assembly, store, rerun)
                else:
                    yield play


def _rest(play: Play, assembly: Assembly, store: RunStore, rerun: Rerun | None) -> list[Play]:
    place = (play.conversation.id, play.system.name, play.policy_name)
    records = store.records_of(*place)
    if rerun and (again := rerun.plays(play, records)):
        return again
    if is_over(play.conversation, records, assembly.file.scenario.play.on_failure):
        return []
    if records and play.system.adapter.history == "server":
        store.forget(*place)
        records = ()
    return [replace(play, records=records)]
