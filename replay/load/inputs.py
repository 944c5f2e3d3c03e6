"""What a load run reads before it begins: all its conversations, and when they arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.play.load.arrivals import Arrival, read_trace, recorded_arrivals
from replay.play.load.section import LoadSection
from replay.play.load.think import think_rng
from replay.scenario.assembly import Assembly
from replay.store.reader import RunReader


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadInputs:
    """A scenario to be played under load, with all that is read for it."""

    assembly: Assembly
    load: LoadSection
    conversations: Sequence[Conversation]
    """All of the data, since a load run plays it again and again."""
    trace: Sequence[Arrival]
    """The arrivals of the scenario's trace or of its data; none where they are made."""


def read_inputs(assembly: Assembly, on_bad: Callable[[DatasetError], None]) -> LoadInputs:
    """
    Return the conversations and the trace that *assembly*'s load needs.

    Args:
        assembly: The assembled scenario; it has a load.
        on_bad: Called with the fault of each conversation that is skipped (``data.skip_bad``).

    Raises:
        DatasetError: a conversation can't be read, or there is none; the trace can't be read, names a
            conversation that is not there, or has more gaps than that has turns to wait for.
        InputError: arrivals or think times are to be read from the data, which doesn't have them.
    """
    load = assembly.load
    assert load is not None
    skips = assembly.file.scenario.data.skip_bad
    conversations = list(assembly.conversations(on_bad if skips else None))
    if not conversations:
        raise DatasetError("holds no conversation to play", path=", ".join(map(str, assembly.paths)))
    trace = _arrivals(load, assembly.file.folder, conversations)
    if load.think.kind == "recorded":
        for conversation in conversations:
            load.think.gaps_s(conversation, think_rng(0, 0))
    return LoadInputs(assembly=assembly, load=load, conversations=conversations, trace=trace)


def stored_inputs(assembly: Assembly, store: RunReader) -> LoadInputs:
    """
    Return what *assembly*'s load needs, of a run in *store* whose program has read and checked it.

    Raises:
        DatasetError: the trace can't be read any more.
    """
    load = assembly.load
    assert load is not None
    conversations = list(store.conversations())
    trace = _arrivals(load, assembly.file.folder, conversations)
    return LoadInputs(assembly=assembly, load=load, conversations=conversations, trace=trace)


def _arrivals(load: LoadSection, folder: Path, conversations: Sequence[Conversation]) -> list[Arrival]:
    if load.trace is not None:
        return _read_trace(folder / load.trace, conversations)
    return recorded_arrivals(conversations) if load.profile == "recorded" else []


def _read_trace(path: Path, conversations: Sequence[Conversation]) -> list[Arrival]:
    trace = list(read_trace(path))
    turns = {conversation.id: len(conversation.turns) for conversation in conversations}
    for arrival in trace:
        if arrival.conversation is None:
            continue
        place = SourceLocation(path=path, line=arrival.line)
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
