"""
Conditions on turns, as a command line writes them: ``failed``, ``depth>=3``, ``outcome=timed-out,refused``.

Of several conditions all have to hold. Values with commas between them are alternatives; a value that
itself holds a comma is found as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from replay.core.errors import InputError
from replay.core.record import Outcome, TurnRecord
from replay.core.settings.faults import nearest
from replay.scenario.assertions.depth_range import ALL_DEPTHS, DepthRange, read_depths

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
    Raises:
        InputError: there is none, or one means nothing.
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
