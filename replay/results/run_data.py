"""
A run's conversations: all read and kept before anything is asked, and played as they were then; and the plays
of each of them within one run (``play.repeats``): their ids, their order, their seeds.

A resume compares the data with them by content, says what became of it, and takes up what is new only where
it is told to. So an answer always belongs to the conversation that was asked, whatever was done to a file.

The first play keeps the conversation's id, the others are called as in ``album~2`` and name their
``source``, so that everything that knows plays of a load run by their source knows these.

Round after round, not one conversation's repeats in a row: a run that is stopped is then one with fewer
repeats of every conversation and not one of the first few conversations; repeats lie far apart in time, so
that what changes at an endpoint from minute to minute shows in their spread; and no two of them are asked at
the same moment, where a server may batch them or answer both alike. What it costs: an endpoint may have
forgotten the prompt's beginning meanwhile, and of data with more than some 4,000 turns gold sides are
resolved once in each round.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from threading import Event

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import DatasetError, ReplayError
from replay.core.logs import log_event
from replay.play.play import Play, repeat_conversation, repetition_id, repetition_mark
from replay.report.numbers import count_text
from replay.scenario.assembly import Assembly
from replay.scenario.expected_checks import ExpectedChecks
from replay.scenario.sections import Scenario
from replay.store.page_queries import RunBrowser
from replay.store.reader import RunReader
from replay.store.rows import content_hash, rename_conversation
from replay.store.store import RunStore

REPEATS = "repeats"
"""The fact of a run that plays its conversations several times, or sends seeds."""


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """How often a run plays each conversation."""

    times: int = 1
    mark: str = "~"
    """Stands between a conversation's id and the repeat's number. Of the data as it was when the run began:
    what a resume takes up later must not change what plays are called."""
    seeds: tuple[int, ...] = ()
    """What the asks of each repeat send as ``seed``; empty where they send none."""

    def ids(self, id: str) -> Iterator[str]:
        """Return the ids of all plays of the conversation *id*, the first play's first."""
        return (repetition_id(id, repeat, self.mark) for repeat in range(1, self.times + 1))

    def lengths(self, conversations: dict[str, int]) -> dict[str, int]:
        """Return the number of turns of each play by its id, from those of the data's *conversations*."""
        return {play: turns for id, turns in conversations.items() for play in self.ids(id)}

    def of(self, play: Play, repeat: int) -> Play:
        """Return *play*, of a conversation of the data, as its repetition number *repeat* (from 1)."""
        seed = self.seeds[repeat - 1] if self.seeds and play.system.takes_seed else None
        id = play.conversation.id
        return replace(
            play,
            conversation=repeat_conversation(play.conversation, repeat, self.mark),
            source=id if repeat > 1 else None,
            repeat=repeat,
            seed=seed,
        )


def planned_repeats(scenario: Scenario, ids: Iterable[str]) -> Repeats:
    """
    Return the repeats that *scenario* asks for.

    Args:
        ids: The ids of the run's conversations, which the ids of the further plays must not equal.

    Returns:
        The number of plays, and a seed for each where the scenario wants one. The seeds depend on the
            scenario's ``seed`` alone.
    """
    play = scenario.play
    seeds = tuple(
        # Positive in 32 bits: several servers take no more.
        random.Random(f"{scenario.seed}|repeat|{repeat}").randrange(1, 2**31)
        for repeat in range(1, play.repeats + 1)
    )
    mark = repetition_mark(ids)
    return Repeats(times=play.repeats, mark=mark, seeds=seeds if play.seed_per_repeat else ())


def repeats_of(store: RunReader | RunBrowser) -> Repeats:
    """Return how often the run in *store* plays each conversation; once before it has read its data."""
    fact = store.fact(REPEATS)
    return Repeats() if fact is None else convert_to(fact, Repeats)


DATA_IS_READ = "data-read"
"""The fact of a run that holds all its conversations."""
BAD = "bad-conversation"
_COMPARED = "data-compared"
_TURNS_READ_AT_ONCE = 4000
"""Before they are written; some conversations have thousands."""
_SHOWN = 3


class IdSample(msgspec.Struct, frozen=True):
    """Some conversations."""

    count: int = 0
    first: tuple[str, ...] = ()
    """Ids of the first few, in the data's order or the run's."""


class DataChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the data since a run read it."""

    new: IdSample = IdSample()
    changed: IdSample = IdSample()
    """Of the same id and another content."""
    gone: IdSample = IdSample()
    taken_up: int = 0
    """Of the new ones, by this resume."""
    limit: int | None = None
    """The scenario's ``data.limit``, where it keeps new ones out."""
    unreadable: str | None = None
    """Why the data could not be compared."""

    def __bool__(self) -> bool:
        return bool(self.unreadable or self.new.count or self.changed.count or self.gone.count)

    def sentences(self, way_in: str) -> list[str]:
        """
        Return the changes in words; empty if there are none.

        Args:
            way_in: The command that adds new conversations to the run.
        """
        if self.unreadable:
            return [
                f"The data can't be compared with what the run read of it ({self.unreadable}). The run plays "
                "its conversations as it read them when it began."
            ]
        counts = [
            _describe_sample(self.new, "is new", "are new"),
            _describe_sample(self.changed, "has another content", "have another content"),
            _describe_sample(self.gone, "is gone", "are gone"),
        ]
        kept = "The run plays its conversations as it read them when it began"
        left = self.new.count - self.taken_up
        if self.taken_up:
            kept += f", and {self.taken_up:,} new beside them"
        if left:
            why = f"data.limit is {self.limit}" if self.limit else f"{way_in} takes them up"
            kept += f"; {left:,} new left out ({why})"
        told = "; ".join(count for count in counts if count)
        return [f"The data has changed since the run began: {told}. {kept}."] if told else []


def _describe_sample(some: IdSample, one: str, several: str) -> str:
    if not some.count:
        return ""
    names = ", ".join([*(f'"{id}"' for id in some.first), *(["..."] if some.count > len(some.first) else [])])
    return f"{count_text(some.count, 'conversation', (one, several))} ({names})"


def data_remarks(store: RunStore) -> list[str]:
    """Return sentences on how the data differed from the run in *store* at its last resume."""
    compared = [convert_to(one, DataChanges) for one in store.events(_COMPARED)]
    remarks = compared[-1].sentences(resume_command(store)) if compared else []
    if before := sum(one.taken_up for one in compared[:-1]):
        counted = count_text(before, "conversation", ("that was", "that were"))
        remarks.append(f"Earlier resumes took up {counted} new in the data.")
    return remarks


def resume_command(store: RunStore) -> str:
    """Return the command that adds new conversations to the run."""
    return f"`replay resume {store.folder} --with-new-data`"


def read_data(assembly: Assembly, store: RunStore, stop: Event) -> None:
    """
    Keep all conversations of *assembly* in *store*; none of a run killed at that was asked anything.

    Raises:
        DatasetError: one can't be read and is not to be skipped, or there is none.
        PluginError: the data's reader fails.
        ScenarioError: nothing could look at what the data expects.
    """

    def note_skipped(error: DatasetError) -> None:
        store.add_event(BAD, {"message": str(error)})
        log_event(logging.INFO, "conversation skipped", error=str(error))

    store.drop_conversations()
    store.drop_events(BAD)
    count, turns, expected = 0, 0, ExpectedChecks(assembly)
    some: list[Conversation] = []
    for conversation in assembly.conversations(
        note_skipped if assembly.file.scenario.data.skip_bad else None
    ):
        if stop.is_set():
            return
        expected.add(conversation)
        some.append(conversation)
        turns += 1 + len(conversation.turns)
        if turns >= _TURNS_READ_AT_ONCE:
            store.add_conversations(some, count)
            store.settle()  # or they would pile up where they are read faster than written
            count += len(some)
            turns = 0
            some.clear()
    store.add_conversations(some, count)
    if not count and not some:
        raise DatasetError("holds no conversation to play", path=", ".join(map(str, assembly.paths)))
    expected.validate()
    store.settle()
    store.set_fact(REPEATS, planned_repeats(assembly.file.scenario, store.conversation_lengths()))
    store.set_fact(DATA_IS_READ, True)
    store.settle()


def compare_data(assembly: Assembly, store: RunStore, stop: Event, *, with_new_data: bool) -> DataChanges:
    """
    Compare the data of *assembly* with the conversations in *store*, by content.

    Neither a conversation's position in the data nor its id matters.

    Args:
        stop: Once it is set, the comparison ends early with no changes.
        with_new_data: Add new conversations to the run, as far as ``data.limit`` lets them in.

    Returns:
        The differences. Data that can't be read is one of them, unless *with_new_data*.

    Raises:
        DatasetError, PluginError, ScenarioError: *with_new_data*, and the data can't be read.
    """
    stored, given, found = store.contents(), dict[str, str](), dict[str, Conversation]()
    skips = assembly.file.scenario.data.skip_bad
    try:
        for conversation in assembly.conversations((lambda _: None) if skips else None):
            if stop.is_set():
                return DataChanges()
            content = given[conversation.id] = content_hash(conversation)
            if with_new_data and stored.get(conversation.id) != content:
                found[conversation.id] = conversation
    except ReplayError as error:
        if with_new_data:
            raise
        changes = DataChanges(unreadable=" ".join(str(error).split()))
    else:
        changes = _add(store, _difference(stored, given), found, assembly.file.scenario.data.limit)
    if changes or store.events(_COMPARED):  # what a report says is what the last resume found
        store.add_event(_COMPARED, changes)
    if changes:
        log_event(logging.INFO, "data changed", **msgspec.to_builtins(changes))
    store.settle()
    return changes


def _difference(stored: dict[str, str], given: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Return ids of the conversations that are new, changed and gone; contents by id are compared."""
    same = {id for id, content in given.items() if stored.get(id) == content}
    elsewhere = Counter(content for id, content in stored.items() if id not in same)
    called_anew = Counter[str]()
    unknown = []
    for id, content in given.items():
        if id in same:
            continue
        if called_anew[content] < elsewhere[content]:
            called_anew[content] += 1
        else:
            unknown.append(id)
    missing = []
    for id, content in stored.items():
        if id in same:
            continue
        if called_anew[content]:
            called_anew[content] -= 1
        else:
            missing.append(id)
    changed = set(unknown) & set(missing)
    return (
        [id for id in unknown if id not in changed],
        [id for id in missing if id in changed],
        [id for id in missing if id not in changed],
    )


def _add(
    store: RunStore,
    difference: tuple[list[str], list[str], list[str]],
    found: dict[str, Conversation],
    limit: int | None,
) -> DataChanges:
    """
    Return the changes, once the new conversations that were *found* are added, as far as *limit* lets them
    in.
    """
    new, changed, gone = difference
    names = list(store.conversation_lengths())
    room = len(new) if limit is None else max(0, limit - len(names))
    taken = [id for id in new if id in found][:room]
    added = list[Conversation]()
    if taken:
        store.set_fact("finished", False)
    repeats = repeats_of(store)
    known = set(repeats.lengths(dict.fromkeys(names, 0)))
    for id in taken:
        name, number = id, 1
        # A log called by its line may be in the place of one that the run has, or called like a repeat.
        while not known.isdisjoint(repeats.ids(name)):
            number += 1
            name = f"{id}~{number}"
        known.update(repeats.ids(name))
        added.append(rename_conversation(found[id], name))
    store.add_conversations(added, len(names))
    return DataChanges(
        new=_some(new),
        changed=_some(changed),
        gone=_some(gone),
        taken_up=len(taken),
        limit=limit if room < len(new) else None,
    )


def _some(ids: Sequence[str]) -> IdSample:
    return IdSample(len(ids), tuple(ids[:_SHOWN]))
