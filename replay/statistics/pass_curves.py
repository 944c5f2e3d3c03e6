"""
How often plays of the same conversation pass, all of k or any of k.

**pass^k** is the chance that k plays of a case all pass (Yao et al., *tau-bench*, 2024),
**pass@k** that at least one of them does (Chen et al., *Evaluating Large Language Models Trained on Code*,
2021, section 2.1). Of a case that passed c of n times, their unbiased estimates are

    pass^k = C(c, k) / C(n, k)        pass@k = 1 - C(n - c, k) / C(n, k)

and over cases their mean. A case is a turn, that is a depth of a recorded conversation; or a whole recorded
conversation, which passes where all its turns do.

n counts the plays in which the turn has a score: one that failed or was never reached says nothing of the
answer, and is no pass and no miss. A play counts for the whole conversation if every turn that has a score
in any of its plays has one there; otherwise those with a miss would count and those without would not. Where
fewer than k plays count, the case is left out for that k, and counted.

Where no questions were recorded, plays have no turns in common: a case is a whole conversation, and a play
counts if any of its turns has a score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Literal

import msgspec

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.estimate import Estimate, Resampling, estimate_cells
from replay.statistics.group import Group
from replay.statistics.score_column import ScoreColumn

PassKind = Literal["^", "@"]
"""``^``: all of k plays pass; ``@``: one of them at least."""
Case = tuple[str, int | None]
"""A recorded conversation and a depth; without one the whole conversation."""
Plays = Mapping[int, bool]
"""Whether each play that counts passed, by its number."""


def pass_all(passed: int, plays: int, k: int) -> float:
    """Return the unbiased estimate of pass^k from *passed* of *plays*, of which there are *k* or more."""
    return comb(passed, k) / comb(plays, k)


def pass_any(passed: int, plays: int, k: int) -> float:
    """Return the unbiased estimate of pass@k; otherwise as ``pass_all``."""
    return 1 - comb(plays - passed, k) / comb(plays, k)


_ESTIMATES = {"^": pass_all, "@": pass_any}


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCurve:
    """pass^k and pass@k of one score, by k."""

    group: Group
    score: str
    depth: int | None
    """None for all depths together, and for whole conversations."""
    whole: bool
    """Of whole conversations."""
    cases: int
    """Turns, or conversations, that have a score in one play at least."""
    incomplete: int
    """Those of them whose score is missing in another play."""
    passes_all: tuple[Estimate, ...]
    """pass^k for k = 1, 2, ... up to the number of plays."""
    passes_any: tuple[Estimate, ...]
    """pass@k, likewise."""

    @property
    def label(self) -> str:
        """Return the curve's label: ``conversations``, ``all turns`` or, for example, ``depth 3``."""
        if self.whole:
            return "conversations"
        return "all turns" if self.depth is None else f"depth {self.depth}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **msgspec.to_builtins(self.group),
            "score": self.score,
            "depth": self.depth,
            "whole_conversation": self.whole,
            "cases": self.cases,
            "incomplete": self.incomplete,
            "pass_all": [{"k": k, **one.to_json()} for k, one in enumerate(self.passes_all, 1)],
            "pass_any": [{"k": k, **one.to_json()} for k, one in enumerate(self.passes_any, 1)],
        }


def says_yes_or_no(column: ScoreColumn) -> bool:
    """Return whether *column* is the share of what passes: all it has observed is 0 or 1, and 1 is better."""
    known = [column.observed[index] for index in range(len(column.observed)) if column.is_scored(index)]
    share = column.is_mean and column.unit == SHARE and not column.lower_is_better
    return share and bool(known) and all(value in (0, 1) for value in known)


def outcomes(records: Sequence[TurnRecord], column: ScoreColumn, places: Sequence[int]) -> dict[Case, Plays]:
    """
    Of each case, whether it passed, by the number of each play that counts.

    *places* are those of one system's and policy's records. By conversation, whole ones last.
    """
    turns: dict[Case, dict[int, bool]] = defaultdict(dict)
    plays: dict[str, dict[int, dict[int, bool]]] = defaultdict(lambda: defaultdict(dict))
    simulated = set[str]()
    for index in places:
        if column.is_scored(index):
            one, passed = records[index], column.observed[index] == 1
            if one.edit == "simulated":
                simulated.add(one.recorded_conversation)
            else:
                turns[one.recorded_conversation, one.depth][one.repeat] = passed
            plays[one.recorded_conversation][one.repeat][one.depth] = passed
    found: dict[Case, Plays] = {case: turns[case] for case in sorted(turns, key=str)}
    for conversation in sorted(plays):
        depths = {depth for play in plays[conversation].values() for depth in play}
        found[conversation, None] = {
            repeat: all(play.values())
            for repeat, play in plays[conversation].items()
            if play.keys() == depths or conversation in simulated
        }
    return found


def pass_column(cases: Iterable[Plays], kind: PassKind, k: int) -> ScoreColumn:
    """Return pass^k or pass@k as a score of *cases*, each given by its plays that count."""
    few = Unscored(reason=f"fewer than {k} plays have a score" if k > 1 else "no play has all scores")
    estimate = _ESTIMATES[kind]
    return ScoreColumn(
        scorer=StoredScorer(signature=f"pass{kind}{k}", unit=SHARE, lower_is_better=False),
        observed=[few if len(one) < k else estimate(sum(one.values()), len(one), k) for one in cases],
    )


def of_cases(drawn: Resampling, records: Sequence[TurnRecord], cases: Sequence[Case]) -> Resampling:
    """Return *drawn*, the resampled conversations of *records*, for *cases* in place of records."""
    place = {record.recorded_conversation: at for record, at in zip(records, drawn.clusters, strict=True)}
    return replace(drawn, clusters=[place[conversation] for conversation, _ in cases])


def pass_curves(
    group: Group,
    score: str,
    found: Mapping[Case, Plays],
    times: int,
    drawn: Resampling,
) -> list[PassCurve]:
    cases, plays = list(found), list(found.values())
    depths = sorted({depth for _, depth in cases if depth is not None})
    cells = [
        *([place for place, case in enumerate(cases) if case[1] == depth] for depth in depths),
        [place for place, case in enumerate(cases) if case[1] is not None],
        [place for place, case in enumerate(cases) if case[1] is None],
    ]
    by_kind: dict[PassKind, list[list[Estimate]]] = {
        kind: [
            estimate_cells(pass_column(plays, kind, k), cells, drawn)[0] for k in range(1, times + 1)
        ]
        for kind in ("^", "@")
    }  # fmt: skip
    return [
        PassCurve(
            group=group,
            score=score,
            depth=depth,
            whole=at == len(cells) - 1,
            cases=len(cells[at]),
            incomplete=sum(len(plays[place]) < times for place in cells[at]),
            passes_all=tuple(estimates[at] for estimates in by_kind["^"]),
            passes_any=tuple(estimates[at] for estimates in by_kind["@"]),
        )
        for at, depth in enumerate([*depths, None, None])
        if cells[at] or at == len(cells) - 1
    ]
