"""What a load run reads before it begins: all its conversations, and when they arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replay.assembly import Assembly
from replay.conversation import Conversation
from replay.errors import DatasetError
from replay.load.trace import Arrival, read_trace


def read_conversations(assembly: Assembly, on_bad: Callable[[DatasetError], None]) -> list[Conversation]:
    """
    All of the data at once, since a load run plays it again and again.

    *on_bad* is told of those that the scenario wants skipped.

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
        DatasetError: it can't be read, or names a conversation that is not among *conversations*.
    """
    if assembly.load is None or assembly.load.trace is None:
        return []
    path = assembly.file.folder / assembly.load.trace
    trace = list(read_trace(path))
    known = {conversation.id for conversation in conversations}
    for arrival in trace:
        if arrival.conversation is not None and arrival.conversation not in known:
            raise DatasetError(
                f'"{arrival.conversation}" is no conversation of the data; leave it out to draw one',
                path=str(path),
                line=arrival.line,
                field="conversation",
            )
    return trace
