"""
Which turns a rerun still has to ask, and how each is put in the place of the one before.

The plan is kept in the run, so that whoever goes on with it after a kill asks what is left and nothing
else. A turn counts as asked again as soon as the one before is put aside, which happens in the
transaction that stores the new one. Where the history holds the system's own answers, all later turns of
the conversation are put aside at that moment: they leaned on an answer that is no longer there. They are
then missing, as in a run that was interrupted there, and are asked like that.

Conditions on turns, as a command line writes them: ``failed``, ``depth>=3``, ``outcome=timed-out,refused``.

Of several conditions all have to hold. Values with commas between them are alternatives; a value that
itself holds a comma is found as well.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import get_args

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import InputError, RunError
from replay.core.record import Outcome, TurnRecord
from replay.core.settings.faults import nearest
from replay.play.play import Play, System
from replay.policies.policy import Policy
from replay.results.run_data import repeats_of
from replay.scenario.assembly import Assembly
from replay.scenario.assertions.section import ALL_DEPTHS, DepthRange, read_depths
from replay.store.store import RunStore

NAMED = ("conversation", "outcome", "policy", "repeat", "system")
"""What a condition can name by its value."""
WAYS = "failed, depth>=3, conversation=ID, repeat=2, outcome=timed-out, policy=NAME or system=NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition."""

    text: str
    """As it was written."""
    what: str
    """``failed``, ``depth``, or one of ``NAMED``."""
    depths: DepthRange = ALL_DEPTHS
    values: tuple[str, ...] = ()
    """Any of which will do."""

    def holds(self, record: TurnRecord) -> bool:
        """Return whether *record* is of this kind."""
        match self.what:
            case "failed":
                return record.failed
            case "depth":
                return record.depth in self.depths
            case "conversation":  # as the data calls it, with all its repeats, or one play of it
                return bool({record.conversation, record.recorded_conversation} & set(self.values))
            case "repeat":
                return str(record.repeat) in self.values
            case _:
                return getattr(record, self.what) in self.values


def read_conditions(texts: Sequence[str]) -> list[Condition]:
    """
    Parse the conditions that select turns to ask again, as given by ``--only``.

    Raises:
        InputError: there is none, or one is not understood.
    """
    if not texts:
        raise InputError(f"say which turns are to be asked again: --only {WAYS}")
    return [_read(text) for text in texts]


def check_names(conditions: Sequence[Condition], known: Mapping[str, Collection[str]]) -> None:
    """
    Make sure that what *conditions* name is there; *known* are the names of each kind that there are.

    Raises:
        InputError: something has another name.
    """
    for condition in conditions:
        names = known.get(condition.what, get_args(Outcome) if condition.what == "outcome" else ())
        if condition.what in NAMED and not set(condition.values) & set(names):
            wanted = condition.values[0]
            listed = f"; it has {', '.join(sorted(names))}" if len(names) <= 20 else ""
            hint = nearest(wanted, names) or listed
            raise InputError(f'--only {condition.text}: the run has no {condition.what} "{wanted}"{hint}')


def _read(text: str) -> Condition:
    if text.strip() == "failed":
        return Condition(text=text.strip(), what="failed")
    found = re.fullmatch(r"\s*(\w+)\s*(.*?)\s*", text, re.DOTALL)
    what, rest = (found[1], found[2]) if found else ("", "")
    if what == "depth":
        try:
            return Condition(text=text.strip(), what=what, depths=read_depths(re.sub(r"^=(?=.*-)", "", rest)))
        except ValueError as error:
            raise InputError(f"--only {text}: {error}, each after the word depth") from error
    value = rest.removeprefix("=").strip()
    if what in NAMED and rest.startswith("=") and value:
        # A conversation's id may hold a comma.
        values = dict.fromkeys([value, *(part.strip() for part in value.split(","))])
        return Condition(text=text.strip(), what=what, values=tuple(values))
    raise InputError(f"--only {text}: means nothing; write {WAYS}")


RERUN = "rerun"
"""The fact of a run that holds its last rerun."""
Place = tuple[str, str, str]
"""Conversation, system, policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a rerun is to do, as the run keeps it."""

    number: int
    """1 for the run's first rerun."""
    only: tuple[str, ...]
    """The conditions, as they were written."""
    turns: tuple[tuple[str, str, str, int], ...]
    """The chosen turns: conversation, system, policy, depth. Empty once it is finished."""
    finished: bool = False

    @property
    def reason(self) -> str:
        """Return the reason that is recorded with each turn that this rerun replaces."""
        return f"rerun {self.number}: {' and '.join(self.only)}"


def begin(store: RunStore, conditions: Sequence[Condition]) -> bool:
    """
    Keep a new plan in *store*, or find the one there is; returns whether it is about any turn.

    Raises:
        InputError, RunError: as for ``plan_for``.
    """
    plan = plan_for(store, conditions)
    if plan.turns and plan != _plan(store):
        store.set_fact(RERUN, plan)
        store.set_fact("finished", False)
        store.add_event(RERUN, {"number": plan.number, "only": plan.only, "turns": len(plan.turns)})
    return bool(plan.turns)


def plan_for(store: RunStore, conditions: Sequence[Condition]) -> Plan:
    """
    Return the plan for asking the turns of *conditions* again; the stored plan if that was interrupted.

    Raises:
        InputError: a condition names what the run doesn't have.
        RunError: the run isn't finished, or another rerun of it isn't.
    """
    only = tuple(condition.text for condition in conditions)
    last = _plan(store)
    if last is None or last.finished:
        number = last.number + 1 if last else 1
        return Plan(number=number, only=only, turns=tuple(_chosen_turns(store, conditions)))
    if last.only != only:
        raise RunError(
            f'a rerun of the turns with {" and ".join(last.only)} in "{store.folder}" was interrupted; '
            f"finish it first with: replay resume {store.folder}"
        )
    return last


def _chosen_turns(store: RunStore, conditions: Sequence[Condition]) -> list[tuple[str, str, str, int]]:
    """
    Return the turns for which all *conditions* hold.

    Raises:
        InputError: a condition names what the run doesn't have.
        RunError: the run isn't finished, or was played under load.
    """
    if store.fact("load") is not None:
        raise RunError(
            f'"{store.folder}" is a load run, which can\'t be asked again in part; begin a new run'
        )
    if not store.fact("finished"):
        raise RunError(
            f'the run in "{store.folder}" is not finished; go on with it first: replay resume {store.folder}'
        )
    repeats = repeats_of(store)
    check_names(
        conditions,
        {
            "conversation": repeats.lengths(store.conversation_lengths()),
            "repeat": [str(repeat) for repeat in range(1, repeats.times + 1)],
            "policy": store.fact("policies"),
            "system": store.fact("systems"),
        },
    )
    return [
        (record.conversation, record.system, record.policy, record.depth)
        for record in store.records()
        if all(condition.holds(record) for condition in conditions)
    ]


class Rerun:
    """A rerun that isn't finished."""

    def __init__(self, store: RunStore, plan: Plan, assembly: Assembly) -> None:
        self._store = store
        self._plan = plan
        self._alone = {
            (system.name, label): answers_independent(system, policy)
            for system in assembly.systems
            for label, policy in assembly.policies.items()
        }
        asked = {
            (one.record.conversation, one.record.system, one.record.policy, one.record.depth)
            for one in store.superseded_turns()
            if one.reason == plan.reason
        }
        self._left: dict[Place, list[int]] = {}
        for turn in plan.turns:
            if turn not in asked:
                self._left.setdefault(turn[:3], []).append(turn[3])

    @classmethod
    def pending(cls, store: RunStore, assembly: Assembly) -> Rerun | None:
        """Return the rerun in *store* that was begun and isn't finished; None if there is none."""
        plan = _plan(store)
        return None if plan is None or plan.finished else cls(store, plan, assembly)

    def plays(self, play: Play, records: Sequence[TurnRecord]) -> list[Play]:
        """
        Return the plays in which the chosen turns of *play* are asked again; empty if none was chosen.

        Args:
            records: The stored records of *play*, by depth.
        """
        depths = sorted(self._left.get((play.conversation.id, play.system.name, play.policy_name), ()))
        if not depths:
            return []
        if play.system.adapter.history == "server":
            return [play]
        if not self._alone[play.system.name, play.policy_name]:
            return [replace(play, records=_before(records, depths[0]))]
        return [self._stretch(play, records, first, last) for first, last in _stretches(depths)]

    @staticmethod
    def _stretch(play: Play, records: Sequence[TurnRecord], first: int, last: int) -> Play:
        """
        Return the turns *first* to *last* alone; what a failure kept from being asked after them as well.
        """
        conversation = play.conversation
        if last < len(records):
            conversation = msgspec.structs.replace(conversation, turns=conversation.turns[:last])
        return replace(play, conversation=conversation, records=_before(records, first))

    def write(self, record: TurnRecord) -> Awaitable[None]:
        """Store *record* in the place of what it leaves behind; this is the engine's sink."""
        and_later = not self._alone[record.system, record.policy]
        return self._store.replace(record, self._plan.reason, and_later=and_later)

    def finish(self) -> None:
        """Record that everything was asked."""
        self._store.set_fact(RERUN, replace(self._plan, turns=(), finished=True))


def _before(records: Sequence[TurnRecord], depth: int) -> tuple[TurnRecord, ...]:
    return tuple(record for record in records if record.depth < depth)


def answers_independent(system: System, policy: Policy) -> bool:
    """Return whether no later turn leans on a turn's answer: the history shown has gold answers only."""
    return system.adapter.history != "server" and policy.history != "own"


def _stretches(depths: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of neighbours: (2, 3), (7, 7) for 2, 3, 7."""
    ends = [a for a, b in pairwise(depths) if b > a + 1] + [depths[-1]]
    starts = [depths[0]] + [b for a, b in pairwise(depths) if b > a + 1]
    return list(zip(starts, ends, strict=True))


def _plan(store: RunStore) -> Plan | None:
    fact = store.fact(RERUN)
    return None if fact is None else convert_to(fact, Plan)
