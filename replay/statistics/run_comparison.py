"""
A comparison of two runs, or of two policies or systems of one run: what is compared with what, which
numbers are comparable at all, and what else differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from replay import __version__
from replay.core.errors import InputError
from replay.core.expectation import CheckResult
from replay.core.record import TurnRecord
from replay.core.settings.faults import nearest
from replay.scorers.stored_scorer import is_kept
from replay.statistics.checks import ChangedChecks, changed_checks
from replay.statistics.comparison import (
    Comparison,
    ComparisonSettings,
    ComparisonSide,
    compare_sides,
    correct_comparisons,
)
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.score_column import ScoreColumn

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 2
"""Goes up when a key changes its meaning or goes away, not when one is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """What a comparison needs of a run."""

    name: str
    records: Sequence[TurnRecord]
    scores: Mapping[str, ScoreColumn]
    signatures: Mapping[str, str]
    """By policy label, and ``data``."""
    checks: Sequence[CheckResult] = ()
    """What became of the data's checks, in the order of the data."""

    def groups(self) -> list[Group]:
        """Return the groups that have a record."""
        return groups_in_order(map(group_of, self.records))

    def side(self, group: Group) -> ComparisonSide:
        """Return the records of *group* and their scores."""
        places = [place for place, record in enumerate(self.records) if group_of(record) == group]
        return ComparisonSide(
            records=[self.records[place] for place in places],
            scores={name: column.at(places) for name, column in self.scores.items()},
        )

    def checks_of(self, group: Group) -> list[CheckResult]:
        """Return the checks of *group*."""
        return [one for one in self.checks if Group(one.system, one.policy) == group]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """Two groups, and by how much the second differs."""

    first: Group
    second: Group
    conversations: int
    """Conversations that both have a record of."""
    only_first: int
    only_second: int
    changes: Mapping[str, tuple[str, str]]
    """The parts of the signatures that differ, by what they are signatures of."""
    comparisons: tuple[Comparison, ...]
    checks: ChangedChecks | None = None
    """None where no check was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport:
    """All that a comparison shows."""

    runs: tuple[str, str]
    pairs: tuple[ComparedPair, ...]
    left_out: Mapping[str, str]
    """Scores that are not compared, and why."""
    settings: ComparisonSettings

    @property
    def tests(self) -> dict[str, int]:
        """Return the numbers of ``totals`` and ``depths`` with a p-value; Holm's method takes each apart."""
        tested = [row for p in self.pairs for one in p.comparisons for row in one.rows if row.test]
        totals = sum(row.difference.depth is None for row in tested)
        return {"totals": totals, "depths": len(tested) - totals}

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; scores are shares."""
        return {
            "schema": SCHEMA,
            "convreplay": __version__,
            "runs": list(self.runs),
            "interval": {
                "method": f"{METHOD_NAMES[self.settings.method]} over conversations",
                "resamples": self.settings.resamples,
                "seed": self.settings.seed,
                "confidence": self.settings.confidence,
            },
            "test": {"method": "sign-flip permutation over conversations", "holm_over": self.tests},
            "left_out": dict(self.left_out),
            "pairs": [
                {
                    "first": msgspec.to_builtins(pair.first),
                    "second": msgspec.to_builtins(pair.second),
                    "conversations": pair.conversations,
                    "only_first": pair.only_first,
                    "only_second": pair.only_second,
                    "changes": {name: list(parts) for name, parts in pair.changes.items()},
                    **({"checks": pair.checks.to_json()} if pair.checks else {}),
                    "scores": [comparison.to_json() for comparison in pair.comparisons],
                }
                for pair in self.pairs
            ],
        }

    def to_frame(self) -> pd.DataFrame:
        """
        Return one row per pair, score and depth; the depth of the row of all depths is missing.

        ``a`` and ``b`` are the score on either side, ``difference`` is B - A with its interval in ``low`` and
        ``high``, all as they are stored (shares, not per cent); ``p_holm`` is corrected for all rows.
        """
        import pandas as pd

        rows = [
            {
                **{f"{name}_a": value for name, value in msgspec.to_builtins(pair.first).items()},
                **{f"{name}_b": value for name, value in msgspec.to_builtins(pair.second).items()},
                "score": one.score,
                "unit": one.unit,
                "depth": row.difference.depth,
                "turns": row.difference.turns,
                "conversations": row.difference.conversations,
                "a": row.first,
                "b": row.second,
                "difference": row.difference.value,
                "low": row.difference.low,
                "high": row.difference.high,
                "p": row.test and row.test.p,
                "p_holm": row.adjusted_p,
            }
            for pair in self.pairs
            for one in pair.comparisons
            for row in one.rows
        ]
        texts = ["system_a", "policy_a", "system_b", "policy_b", "score", "unit"]
        kinds = dict.fromkeys(("depth", "turns", "conversations"), "Int64")
        kinds |= dict.fromkeys(("a", "b", "difference", "low", "high", "p", "p_holm"), "float64")
        return pd.DataFrame(rows, columns=[*texts, *kinds]).astype(kinds)


def comparison_report(
    first: ScoredRun,
    second: ScoredRun,
    pairs: Sequence[tuple[Group, Group]],
    *,
    metrics: Sequence[str] = (),
    settings: ComparisonSettings,
) -> ComparisonReport:
    """
    Compare *pairs*, a group of *first* and one of *second* each, in *metrics*, or in all scores of both.

    Raises:
        InputError: a metric is missing in a run, or its two numbers can't be compared.
    """
    names, left_out = _comparable(first, second, metrics)
    found = []
    for one, other in pairs:
        sides = first.side(one), second.side(other)
        known = [{record.recorded_conversation for record in side.records} for side in sides]
        found.append(
            ComparedPair(
                first=one,
                second=other,
                conversations=len(known[0] & known[1]),
                only_first=len(known[0] - known[1]),
                only_second=len(known[1] - known[0]),
                changes=_changes(first, second, one, other),
                comparisons=tuple(compare_sides(*sides, names, settings)),
                checks=changed_checks(first.checks_of(one), second.checks_of(other)),
            )
        )
    return ComparisonReport(
        runs=(first.name, second.name), pairs=_correct_pairs(found), left_out=left_out, settings=settings
    )


def _comparable(
    first: ScoredRun, second: ScoredRun, metrics: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the scores to compare, and why others are not."""
    for name in metrics:
        for run in (first, second):
            if name not in run.scores:
                known = ", ".join(run.scores) or "none"
                raise InputError(
                    f'{run.name} has no score "{name}"{nearest(name, run.scores)} (known: {known}); '
                    "`replay score` adds one"
                )
    names, left_out = [], {}
    for name in metrics or dict.fromkeys([*first.scores, *second.scores]):
        missing = [run.name for run in (first, second) if name not in run.scores]
        if missing:
            left_out[name] = f"{missing[0]} doesn't have it"
            continue
        scorers = [run.scores[name].scorer for run in (first, second)]
        one, other = (scorer.signature for scorer in scorers)
        if any(map(is_kept, scorers)):
            why = "the run keeps its numbers alone; installed under an entry point, a scorer can be compared"
            if metrics:
                raise InputError(f'"{name}" can\'t be compared: {why}; see docs/plugins.md')
            left_out[name] = why
        elif one == other:
            names.append(name)
        elif metrics:
            raise InputError(
                f'"{name}" means two things, so its numbers can\'t be compared: {one} in {first.name}, '
                f"{other} in {second.name}; score one of them anew with `replay score`"
            )
        else:
            left_out[name] = f"its settings differ: {one}, {other}"
    return names, left_out


def _changes(first: ScoredRun, second: ScoredRun, one: Group, other: Group) -> dict[str, tuple[str, str]]:
    policies = first.signatures.get(one.policy, ""), second.signatures.get(other.policy, "")
    data = first.signatures.get("data", ""), second.signatures.get("data", "")
    label = one.policy if one.policy == other.policy else f"{one.policy}, {other.policy}"
    found = {label: _differing_parts(*policies), "data": _differing_parts(*data)}
    return {name: parts for name, parts in found.items() if any(parts)}


def _differing_parts(one: str, other: str) -> tuple[str, str]:
    parts = one.split("|"), other.split("|")
    return (
        "|".join(part for part in parts[0] if part not in parts[1]),
        "|".join(part for part in parts[1] if part not in parts[0]),
    )


def _correct_pairs(pairs: Sequence[ComparedPair]) -> tuple[ComparedPair, ...]:
    adjusted = iter(correct_comparisons([one for pair in pairs for one in pair.comparisons]))
    return tuple(replace(pair, comparisons=tuple(next(adjusted) for _ in pair.comparisons)) for pair in pairs)
