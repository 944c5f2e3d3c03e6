"""What a load run reads before it begins: all its conversations, and when they arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.place import Place
from replay.play.load.section import LoadSection
from replay.play.load.think import think_rng
from replay.play.load.trace import Arrival, read_trace
from replay.scenario.assembly import Assembly


def read_conversations(assembly: Assembly, on_bad: Callable[[DatasetError], None]) -> list[Conversation]:
    """
    All of the data at once, since a load run plays it again and again.

    *on_bad* is called with the faults of those that the scenario wants skipped.

    Raises:
        DatasetError: one can't be read, or there is none.
    """
    skips = assembly.file.scenario.data.skip_bad
    conversations = list(assembly.conversations(on_bad if skips else None))
    if not conversations:
        raise DatasetError("holds no conversation to play", path=", ".join(map(str, assembly.paths)))
    return conversations


def read_trace_of(assembly: Assembly, conversations: Sequence[Conversation]) -> list[Arrival]:
    """
    The arrivals of the scenario's trace; none where it has no trace.

    Raises:
        DatasetError: it can't be read, names a conversation that is not among *conversations*, or has
            more gaps than that has turns to wait for.
    """
    if assembly.load is None or assembly.load.trace is None:
        return []
    path = assembly.file.folder / assembly.load.trace
    trace = list(read_trace(path))
    turns = {conversation.id: len(conversation.turns) for conversation in conversations}
    for arrival in trace:
        if arrival.conversation is None:
            continue
        place = Place(path=path, line=arrival.line)
        named, gaps = arrival.conversation, len(arrival.gaps_s or ())
        if named not in turns:
            raise place.error(
                f'"{named}" is no conversation of the data; leave it out to draw one', "conversation"
            )
        if gaps and gaps >= turns[named]:
            raise place.error(
                f'has {gaps}, but "{named}" has only {turns[named] - 1} turns after its first', "gaps_s"
            )
    return trace


def check_think_times(load: LoadSection, conversations: Sequence[Conversation]) -> None:
    """
    Make sure before anything is asked that think times can be had, where they are read from the data.

    Raises:
        InputError: a conversation doesn't say.
    """
    if load.think.kind == "recorded":
        for conversation in conversations:
            load.think.gaps_s(conversation, think_rng(0, 0))
