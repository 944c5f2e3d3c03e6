"""
What a load run reads before it begins, and who comes: which conversation is played when, with which system
and policy, in one worker's share.

Everything follows from the scenario, the seed and a session's number, so that the workers of a run share it
out without a word between them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.play.load.arrivals import (
    Arrival,
    constant_arrivals,
    poisson_arrivals,
    ramp_up,
    read_trace,
    recorded_arrivals,
)
from replay.play.load.generator import UserSession
from replay.play.load.level import Level
from replay.play.load.section import LoadSection, draw, think_rng
from replay.play.play import Pacer, Play, repeat_conversation, repetition_mark
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


PlayIt = Callable[[Play, Pacer], Coroutine[object, object, None]]


class PlannedSessions:
    """The sessions of one worker, level after level; a conversation drawn once more gets an id of its own."""

    def __init__(self, inputs: LoadInputs, play: PlayIt, *, worker: int = 0, workers: int = 1) -> None:
        self._load = inputs.load
        self._seed = inputs.assembly.file.scenario.seed
        self._assembly = inputs.assembly
        self._policies = inputs.assembly.asking
        self._play = play
        self._trace = inputs.trace
        self._worker = worker
        self._workers = workers
        self._conversations = {conversation.id: conversation for conversation in inputs.conversations}
        self._mark = repetition_mark(self._conversations)
        self._repetitions: Counter[str] = Counter()
        self._drawn = self._draw()
        self._mine = islice(enumerate(self._drawn), worker, None, workers)

    def of(self, level: Level) -> Iterator[UserSession]:
        """Yield the sessions of *level*, endlessly or as long as the trace is."""
        if not level.is_open:
            return (self._session(number, play) for number, play in self._mine)
        if level.value is None:
            return self._of_trace()
        arrivals = islice(self._arrivals(level, level.value), self._worker, None, self._workers)
        return (
            self._session(number, play, at_s)
            for at_s, (number, play) in zip(arrivals, self._mine, strict=False)
        )

    def _arrivals(self, level: Level, rate: float) -> Iterator[float]:
        if self._load.profile == "constant":
            arrivals = constant_arrivals(rate)
        else:
            arrivals = poisson_arrivals(rate, random.Random(f"{self._seed}|arrivals|{level.index}"))
        return ramp_up(arrivals, level.ramp_s)

    def _of_trace(self) -> Iterator[UserSession]:
        for number, (arrival, play) in enumerate(self._arriving()):
            if number % self._workers == self._worker:
                yield self._session(number, play, arrival.at_s / self._load.speed, arrival.gaps_s)

    def _arriving(self) -> Iterator[tuple[Arrival, Play]]:
        """Yield a play for each arrival; of a recorded one, with each system under each policy at once."""
        for number, arrival in enumerate(self._trace):
            if arrival.conversation is None:
                yield arrival, next(self._drawn)
                continue
            plays = self._plays_of(self._conversations[arrival.conversation])
            for play in plays if self._load.profile == "recorded" else [plays[number % len(plays)]]:
                yield arrival, play

    def _session(
        self, number: int, play: Play, at_s: float | None = None, gaps: tuple[float, ...] | None = None
    ) -> UserSession:
        waits = len(play.conversation.turns) - 1
        gaps = (gaps or ())[:waits]
        if len(gaps) < waits and (gaps or self._load.think.kind != "none"):
            gaps += self._load.think.gaps_s(play.conversation, think_rng(self._seed, number))[len(gaps) :]
        return UserSession(play=partial(self._play, play), at_s=at_s, gaps_s=gaps)

    def _draw(self) -> Iterator[Play]:
        """Yield endlessly each conversation drawn, with each system under each policy."""
        for conversation in draw(list(self._conversations.values()), self._load.order, self._seed):
            yield from self._plays_of(conversation)

    def _plays_of(self, conversation: Conversation) -> list[Play]:
        self._repetitions[conversation.id] += 1
        repetition = self._repetitions[conversation.id]
        return [
            Play(
                system=system,
                policy_name=name,
                policy=policy,
                conversation=repeat_conversation(conversation, repetition, self._mark),
                source=conversation.id if repetition > 1 else None,
            )
            for system in self._assembly.systems
            for name, policy in self._policies.items()
        ]
