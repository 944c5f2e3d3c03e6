"""
Recorded against now: what became of each turn beside the answer that was recorded, counted by depth; what a
build fails on; and how far a recorded script carries.

A play's script breaks at the first question that means something else after the system's own answers. Until
then it is at risk; a play that ends before, by its length, a failed ask or a question without a verdict,
leaves the count without breaking. The share of conversations without a drifted question up to a depth is the
product-limit estimate (Kaplan & Meier, JASA 53, 1958). Its interval is Wilson's, with the number of complete
conversations that would have Greenwood's variance as its cases (Rothman, Journal of Chronic Diseases 31,
1978): where no play leaves early that is Wilson's own interval, and it stays within [0, 1]. Plays of one
conversation count as one case.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from replay.core.record import TurnRecord
from replay.statistics.group import Group, group_json, group_of, groups_in_order

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalRow:
    """One depth."""

    depth: int
    at_risk: int
    """Plays of which every question before this one fitted, and this one was judged."""
    broken: int
    """Those of which this one no longer means the same."""
    value: float
    """The share of conversations whose questions fit up to here, in [0, 1]."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSurvival:
    """A system under a policy."""

    group: Group
    rows: tuple[SurvivalRow, ...]
    """Depth 1 first, up to the last depth at which a play was at risk."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; shares in [0, 1]."""
        return group_json(self)


def script_survival(records: Iterable[TurnRecord], *, confidence: float = 0.95) -> tuple[ScriptSurvival, ...]:
    """
    Return how far the script carries for each system and policy that judges questions.

    Args:
        records: All turns of a run; plays that don't begin at depth 1 have no say.
        confidence: Of the intervals, in (0, 1); there are none with fewer than two conversations.
    """
    plays: dict[Group, dict[str, list[TurnRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        plays[group_of(record)][record.conversation].append(record)
    found = [
        ScriptSurvival(group=group, rows=_survival_rows(list(plays[group].values()), confidence))
        for group in groups_in_order(plays)
    ]
    return tuple(one for one in found if one.rows)


def _survival_rows(plays: list[list[TurnRecord]], confidence: float) -> tuple[SurvivalRow, ...]:
    # Here, since whoever only plays a run has recorded turns, and no numpy.
    from scipy.special import ndtri

    from replay.statistics.interval import wilson_ends

    at_risk: dict[int, int] = defaultdict(int)
    broken: dict[int, int] = defaultdict(int)
    sources: set[str] = set()
    for records in plays:
        for depth, record in enumerate(sorted(records, key=lambda record: record.depth), 1):
            if record.depth != depth or record.drift is None or record.drift.valid is None:
                break
            sources.add(record.recorded_conversation)
            at_risk[depth] += 1
            if record.drift.invalid:
                broken[depth] += 1
                break
    rows = []
    share, greenwood = 1.0, 0.0
    for depth, risk in sorted(at_risk.items()):
        share *= 1 - broken[depth] / risk
        greenwood += broken[depth] / (risk * (risk - broken[depth])) if risk > broken[depth] else 0.0
        # Without a break, or with nothing left, there is no variance; those at risk are the cases then.
        cases = (1 - share) / (share * greenwood) if 0 < share < 1 else risk
        cases *= len(sources) / at_risk[1]
        low, high = wilson_ends(share, cases, float(ndtri((1 + confidence) / 2)))
        known = len(sources) > 1
        rows.append(
            SurvivalRow(
                depth=depth,
                at_risk=risk,
                broken=broken[depth],
                value=share,
                low=low if known else None,
                high=high if known else None,
            )
        )
    return tuple(rows)
