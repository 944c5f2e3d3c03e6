"""
What a table has one block of rows for: a system under a policy; and which is chosen, or compared with which.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.core.errors import InputError
from replay.core.record import TurnRecord
from replay.core.settings.faults import nearest

# From the history that tests usually show to the one that deployment does, then what mends it.
_POLICY_ORDER = ("gold", "pred", "rewrite", "replace", "augment", "react", "filter")


@dataclass(frozen=True, slots=True)
class Group:
    """One system under one policy."""

    system: str
    policy: str

    def __str__(self) -> str:
        return f"{self.system}, {self.policy}"


def group_of(record: TurnRecord) -> Group:
    """Return the group that *record* belongs to."""
    return Group(record.system, record.policy)


def group_json(one: Any) -> dict[str, Any]:
    """Return *one*, a dataclass with a ``group``, as plain values, system and policy in the group's place."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(one))  # tuples as lists
    return {**plain.pop("group"), **plain}


def groups_in_order(groups: Iterable[Group]) -> list[Group]:
    """Return each group once: by system, then policies in the order in which they are read, then by name."""
    return sorted(dict.fromkeys(groups), key=_rank)


def _rank(group: Group) -> tuple[str, int, str]:
    name = group.policy.partition("(")[0]
    place = _POLICY_ORDER.index(name) if name in _POLICY_ORDER else len(_POLICY_ORDER)
    return group.system, place, group.policy


def pair_groups(
    first: Sequence[Group],
    second: Sequence[Group],
    *,
    systems: tuple[str, str] | None = None,
    policies: tuple[str, str] | None = None,
) -> list[tuple[Group, Group]]:
    """
    Return pairs of groups of *first* and *second*, in the order of the depth table.

    *systems* and *policies* say what differs on purpose: the first name is looked for on the first side,
    the second on the second. What they don't speak of has to be the same on both sides, except that
    where each side has only one system, the two are compared whatever they are called.

    Raises:
        InputError: a name is not there, or there is nothing to compare.
    """
    sides = [
        select_groups(
            groups, systems[at : at + 1] if systems else (), policies[at : at + 1] if policies else ()
        )
        for at, groups in enumerate((first, second))
    ]
    lone = all(len({group.system for group in side}) == 1 for side in sides)
    pairs = [
        (one, other)
        for one in groups_in_order(sides[0])
        for other in groups_in_order(sides[1])
        if (systems is not None or lone or one.system == other.system)
        and (policies is not None or one.policy == other.policy)
    ]
    if not pairs:
        shown = [_list_groups(side) for side in (first, second)]
        raise InputError(
            f"nothing to compare: one side has {shown[0]}, the other {shown[1]}; "
            "name the two systems or policies to compare (--systems A,B or --policies A,B)"
        )
    return pairs


def select_groups(
    groups: Sequence[Group], systems: Collection[str], policies: Collection[str]
) -> list[Group]:
    """
    Return *groups* of the named systems and policies; of all where none are named.

    Raises:
        InputError: a name is not among *groups*.
    """
    for name in systems:
        _check(name, [group.system for group in groups], "system")
    for name in policies:
        _check(name, [group.policy for group in groups], "policy")
    return [
        group
        for group in groups
        if (not systems or group.system in systems) and (not policies or group.policy in policies)
    ]


def two_names(text: str, option: str) -> tuple[str, str]:
    """
    Return the names in ``A,B``; a comma inside brackets, as in ``replace(always=True,n=2)``, parts nothing.

    Raises:
        InputError: they are not two.
    """
    names, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    names = [name.strip() for name in names]
    if len(names) != 2 or not all(names):
        raise InputError(f"{option} {text}: two names with a comma between them are expected")
    return names[0], names[1]


def _check(name: str, known: Iterable[str], kind: str) -> None:
    names = list(dict.fromkeys(known))
    if name not in names:
        raise InputError(
            f'there is no {kind} "{name}"{nearest(name, names)} (known: {", ".join(sorted(names))})'
        )


def _list_groups(groups: Sequence[Group]) -> str:
    return "; ".join(map(str, groups)) or "no record"
