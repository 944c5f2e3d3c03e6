"""
A run's conversations: all read and kept before anything is asked, and played as they were then.

A resume compares the data with them by content, says what became of it, and takes up what is new only where
it is told to. So an answer always belongs to the conversation that was asked, whatever was done to a file.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from threading import Event

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import DatasetError, ReplayError
from replay.core.logs import log_event
from replay.report.numbers import count_text
from replay.results.repeats import REPEATS, planned_repeats, repeats_of
from replay.scenario.assembly import Assembly
from replay.scenario.expected_checks import ExpectedChecks
from replay.store.rows import content_hash, rename_conversation
from replay.store.store import RunStore

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
            _told(self.new, "is new", "are new"),
            _told(self.changed, "has another content", "have another content"),
            _told(self.gone, "is gone", "are gone"),
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


def _told(some: IdSample, one: str, several: str) -> str:
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

    def skipped(error: DatasetError) -> None:
        store.add_event(BAD, {"message": str(error)})
        log_event(logging.INFO, "conversation skipped", error=str(error))

    store.drop_conversations()
    store.drop_events(BAD)
    count, turns, expected = 0, 0, ExpectedChecks(assembly)
    some: list[Conversation] = []
    for conversation in assembly.conversations(skipped if assembly.file.scenario.data.skip_bad else None):
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
