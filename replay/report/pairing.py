"""Which group is compared with which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.statistics.group import Group, groups_in_order


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
