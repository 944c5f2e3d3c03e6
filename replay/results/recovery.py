"""
What the nodes of a cluster had played of a run when the program that played it was killed: taken from their
parts before anything is asked again.

A turn is taken where it goes on with what the run has: from the first turn that differs on, a play went on
elsewhere, by another actor or in a later session, and the rest of it in this part is another branch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from replay.core.uncancellable import in_thread
from replay.results.rerun_plan import Place, Rerun
from replay.store.schema import Row, record_row, row_place, row_record
from replay.store.store import RunStore
from replay.store.undelivered import StepRow, UndeliveredPart, is_continued

_TAKEN = "parts-taken"
"""The event of parts that held something."""


@dataclass(slots=True)
class RecoveryCount:
    """What came of parts."""

    turns: int = 0
    """RecoveryCount into the run."""
    outdated: int = 0
    """Left out, since their conversations went on elsewhere."""
    elsewhere: set[Place] = field(default_factory=set)
    """The plays of these."""


async def recover_part(
    part: UndeliveredPart,
    store: RunStore,
    rerun: Rerun | None,
    keep_rows: Callable[[list[Row], set[str]], Awaitable[None]],
) -> RecoveryCount:
    """Take into the run in *store*, by *keep_rows*, what is in *part* and isn't there."""
    taken = RecoveryCount()
    if part.rerun != (rerun.number if rerun else 0):
        taken.outdated = len(part.rows)
        return taken
    rows = await in_thread(lambda: list(_new(part.rows, store, rerun, taken)))
    if rows:
        await keep_rows(rows, set())
    at_hand = [step for step in part.steps if step.place[:3] not in taken.elsewhere]
    steps = await in_thread(lambda: list(_begun(at_hand, store)))
    store.import_part(replace(part, steps=steps))
    await store.flush()
    return taken


def keep_recovered(store: RunStore, taken: Sequence[RecoveryCount]) -> None:
    """Keep as an event of the run what was *taken*, if anything was there."""
    turns, outdated = sum(one.turns for one in taken), sum(one.outdated for one in taken)
    if turns or outdated:
        store.add_event(_TAKEN, {"turns": turns, "outdated": outdated})


def recovery_remarks(store: RunStore) -> list[str]:
    """What was taken from nodes and what was left out, in words."""
    events = store.events(_TAKEN)
    turns, outdated = (sum(event[key] for event in events) for key in ("turns", "outdated"))
    remarks = []
    if turns:
        remarks.append(
            f"{turns:,} turn{' was' if turns == 1 else 's were'} taken from the cluster's nodes, which had "
            "answers that the program that played the run was no longer there for."
        )
    if outdated:
        remarks.append(
            f"{outdated:,} turn{'' if outdated == 1 else 's'} that a node of the cluster still had "
            f"{'was' if outdated == 1 else 'were'} left out: the conversation had gone on elsewhere, and "
            "what was asked there was asked twice."
        )
    return remarks


def _new(rows: Sequence[Row], store: RunStore, rerun: Rerun | None, taken: RecoveryCount) -> Iterator[Row]:
    for (id, system, policy), group in groupby(rows, key=lambda row: row_place(row)[:3]):
        records = list(map(row_record, group))
        first = store.conversation(records[0].source or id).asked_from
        there = {one.depth: one for one in store.records_of(id, system, policy)}
        for number, record in enumerate(records):
            if rerun and rerun.begins_with(record, first):
                if not rerun.is_independent(record):
                    there = {depth: one for depth, one in there.items() if depth < record.depth}
            elif record == there.get(record.depth):
                continue
            elif record.depth != first + len(there):
                taken.outdated += len(records) - number
                taken.elsewhere.add((id, system, policy))
                break
            there[record.depth] = record
            taken.turns += 1
            yield record_row(record)


def _begun(steps: Sequence[StepRow], store: RunStore) -> Iterator[StepRow]:
    """Those of *steps* whose turn was not begun another way."""
    for _, group in groupby(steps, key=lambda step: step.place):
        of_turn = list(group)
        if is_continued(store, of_turn):
            yield from of_turn
