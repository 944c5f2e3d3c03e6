"""
What a table has one block of rows for: a system under a policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.core.record import TurnRecord

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
