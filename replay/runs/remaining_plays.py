"""What of a run is still to be played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from replay.play.play import Play
from replay.play.player import is_over
from replay.policies.policy import reacting
from replay.results.repeats import Repeats, repeats_of
from replay.results.rerun_plan import Rerun
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore

Part = tuple[int, int]
"""Some conversations: those whose position in the data, divided by the second number, leaves the first."""
ALL: Part = (0, 1)


def turns_left(assembly: Assembly, store: RunStore) -> int:
    """
    Return how many turns have no record in *store* yet; 0 of a finished run.

    Conversations that ended early are counted as if they had gone on, so a run may need fewer.
    """
    lengths = store.conversation_lengths().values()
    asked = len(lengths) if assembly.file.scenario.data.ask == "last" else sum(lengths)
    all_plays = asked * repeats_of(store).times * len(assembly.systems) * len(assembly.policies)
    return max(0, all_plays - store.count_records())


def remaining_plays(
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    *,
    part: Part = ALL,
    is_fresh: bool = False,
) -> Iterator[Play]:
    """
    Yield what *store* has no record of, and what *rerun* still has to ask, of one *part* of the data.

    Of a run that *is_fresh* nobody has to look what is there. Round after round of the run's repeats (see
    ``replay.results.repeats`` for why), and in each conversation by conversation, so that their gold side is
    resolved once for all systems and policies.
    """
    is_fresh = is_fresh or is_unplayed(store)
    for play in _plays_of_part(assembly, store, part):
        if is_fresh:
            yield play
        else:
            yield from _resumed(play, assembly, store, rerun)


def is_unplayed(store: RunStore) -> bool:
    """Return whether *store* knows of no turn yet."""
    return store.count_records() == 0 and not store.has_begun_turns()


def open_parts(assembly: Assembly, store: RunStore, rerun: Rerun | None, parts: int) -> list[Part]:
    """Return those of so many *parts* of the conversations of which something is still to be played."""
    is_fresh = is_unplayed(store)

    def is_open(part: Part) -> bool:
        plays = _plays_of_part(assembly, store, part)
        return any(is_fresh or _rest(play, assembly, store, rerun) for play in plays)

    return [part for part in product(range(parts), [parts]) if is_open(part)]


def _plays_of_part(assembly: Assembly, store: RunStore, part: Part) -> Iterator[Play]:
    repeats = repeats_of(store)
    ids = list(islice(store.conversation_lengths(), part[0], None, part[1]))
    for repeat, id in product(range(1, repeats.times + 1), ids):
        yield from _plays(id, repeat, repeats, assembly, store)


def left_of(plays: Sequence[Play], assembly: Assembly, store: RunStore) -> list[Play]:
    """Return the rest of *plays* (of one or several conversations) that was begun and not finished."""
    store.settle()
    rerun = Rerun.pending(store, assembly)
    repeats = repeats_of(store)
    begun = {(play.conversation.id, play.system.name, play.policy_name): play for play in plays}
    conversations = dict.fromkeys((play.source or play.conversation.id, play.repeat) for play in plays)
    return [
        rest
        for id, repeat in conversations
        for play in _plays(id, repeat, repeats, assembly, store)
        if (play.conversation.id, play.system.name, play.policy_name) in begun
        for rest in _resumed(play, assembly, store, rerun)
    ]


def _plays(id: str, repeat: int, repeats: Repeats, assembly: Assembly, store: RunStore) -> Iterator[Play]:
    """Yield the *repeat* of the conversation *id* with each system under each policy, from its beginning."""
    conversation = store.conversation(id)
    for system in assembly.systems:
        for name, policy in assembly.asking.items():
            play = Play(system=system, policy_name=name, policy=policy, conversation=conversation)
            yield repeats.of(play, repeat)


def _resumed(play: Play, assembly: Assembly, store: RunStore, rerun: Rerun | None) -> Iterator[Play]:
    for rest in _rest(play, assembly, store, rerun):
        if rest.records and play.system.adapter.history == "server":
            store.forget(play.conversation.id, play.system.name, play.policy_name)
            yield replace(rest, records=())
        else:
            yield _with_begun_turn(rest, store)


def _rest(play: Play, assembly: Assembly, store: RunStore, rerun: Rerun | None) -> list[Play]:
    place = (play.conversation.id, play.system.name, play.policy_name)
    records = store.records_of(*place)
    if rerun and (again := rerun.plays(play, records)):
        return [replace(one, anew=True) for one in again]
    if store.has_ended(*place) or is_over(play.conversation, records, assembly.file.scenario.play.on_failure):
        return []
    return [replace(play, records=records)]


def _with_begun_turn(play: Play, store: RunStore) -> Play:
    has_steps = play.system.tools is not None or reacting(play.policy) is not None
    if not has_steps or play.system.adapter.history == "server":
        return play
    place = (play.conversation.id, play.system.name, play.policy_name, play.first_depth)
    return replace(play, begun=store.begun_turn(place))
