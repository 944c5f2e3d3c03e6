"""
Recorded against now: what became of each turn beside the answer that was recorded, counted by depth, and what
a build fails on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from replay.statistics.group import Group, groups_in_order

RecordedVerdict = Literal["worse", "differs", "better", "same"]
"""``differs``: not shown to be the same, and nobody knows which answer is better."""
VERDICTS: tuple[RecordedVerdict, ...] = get_args(RecordedVerdict)
"""In the order in which people look at them."""


class RecordedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn with both answers and the verdict."""

    conversation: str
    system: str
    policy: str
    depth: int
    verdict: RecordedVerdict
    by: str
    """What decided: ``checks``, ``judge``, ``equivalence``, ``scores``, ``refusal``, ``failure`` (no answer
    came) or ``nothing``."""
    evidence: str
    """What was found, in words."""
    asked: str = ""
    recorded: str = ""
    """The recorded answer."""
    now: str | None = None
    """None where no answer came."""

    @property
    def group(self) -> Group:
        """The system and policy."""
        return Group(self.system, self.policy)

    @property
    def texts(self) -> list[tuple[str, str | None]]:
        """Return the question, both answers and the reason, each with its name."""
        how = "" if self.by == "nothing" else f" by {self.by}"
        why = f"{self.verdict}{how}: {self.evidence}"
        return [("asked", self.asked), ("before", self.recorded), ("now", self.now), ("why", why)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRow:
    """The verdicts of one system under one policy, at a depth or at all."""

    group: Group
    depth: int | None
    """None for all depths together."""
    counts: Mapping[RecordedVerdict, int]
    by: Mapping[str, int]
    """How many were decided by what."""

    @property
    def turns(self) -> int:
        return sum(self.counts.values())

    def share(self, verdict: RecordedVerdict) -> float:
        """Return the share of turns with *verdict*, in [0, 1]."""
        return self.counts[verdict] / self.turns

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **msgspec.to_builtins(self.group),
            "depth": self.depth,
            "turns": self.turns,
            **self.counts,
            "by": dict(self.by),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedNumbers:
    """All verdicts of a run."""

    rows: tuple[RecordedRow, ...]
    """By group, then depth, all depths last."""
    turns: tuple[RecordedTurn, ...]
    """Those that are not the same: worse ones first, then those that differ, each from the first depth on."""

    @property
    def totals(self) -> list[RecordedRow]:
        """The rows over all depths."""
        return [row for row in self.rows if row.depth is None]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "counts": [row.to_json() for row in self.rows],
            "turns": [msgspec.to_builtins(one) for one in self.turns],
        }


def count_recorded(turns: Iterable[RecordedTurn]) -> RecordedNumbers | None:
    """Return the counts of *turns*, which come in the order of the data; None without any."""
    verdicts: dict[tuple[Group, int | None], Counter[RecordedVerdict]] = defaultdict(Counter)
    deciders: dict[tuple[Group, int | None], Counter[str]] = defaultdict(Counter)
    listed = []
    for one in turns:
        for key in ((one.group, one.depth), (one.group, None)):
            verdicts[key][one.verdict] += 1
            deciders[key][one.by] += 1
        if one.verdict != "same":
            listed.append(one)
    if not verdicts:
        return None
    groups = groups_in_order(group for group, _ in verdicts)
    keys = sorted(verdicts, key=lambda key: (groups.index(key[0]), key[1] is None, key[1] or 0))
    return RecordedNumbers(
        rows=tuple(
            RecordedRow(
                group=group,
                depth=depth,
                counts={name: verdicts[group, depth][name] for name in VERDICTS},
                by=dict(deciders[group, depth].most_common()),
            )
            for group, depth in keys
        ),
        turns=tuple(sorted(listed, key=lambda one: (VERDICTS.index(one.verdict), one.depth))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorseLimit:
    """How many turns of each system and policy may be worse than recorded."""

    most: float = 0
    percent: bool = False
    """*most* is per cent of the turns that were compared."""

    def holds(self, row: RecordedRow) -> bool:
        """Return whether no more turns than that are worse in *row*."""
        return (100 * row.share("worse") if self.percent else row.counts["worse"]) <= self.most

    def __str__(self) -> str:
        return f"{self.most:g}{' %' if self.percent else ''}"


def read_worse_limit(text: str) -> WorseLimit:
    """
    Return the limit in ``worse``, ``worse>2`` or ``worse>5%``.

    Raises:
        ValueError: *text* is none of them.
    """
    found = re.fullmatch(r"worse(?:\s*>\s*(\d+(?:\.\d+)?)\s*(%)?)?", text.strip())
    if found is None:
        raise ValueError(f'"{text}" is nothing to fail on; write worse, worse>2 or worse>5%')
    return WorseLimit(most=float(found[1] or 0), percent=found[2] is not None)
