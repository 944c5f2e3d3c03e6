"""
``pass^3(check)`` as an assertion's metric: how often all of three plays of a turn pass.

``pass@3(check)``: how often any of them does. ``pass^3(check, conversations)`` speaks of whole conversations,
as that row of a report does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from replay.core.record import TurnRecord
from replay.scenario.assertions.findings import NotEvaluatedError
from replay.statistics.estimate import Estimate, Resampling, estimate_cells
from replay.statistics.pass_curves import PassKind, of_cases, outcomes, pass_column, says_yes_or_no
from replay.statistics.score_column import ScoreColumn

_FORM = re.compile(r"pass([\^@])([0-9]{1,3})\((.*?)(, conversations)?\)")
WAYS = "pass^3(SCORE), pass@3(SCORE) or pass^3(SCORE, conversations)"


class PassMetric(NamedTuple):
    """What is asked of several plays."""

    kind: PassKind
    k: int
    score: str
    """A score that is 0 or 1."""
    whole: bool
    """Of whole conversations."""


def is_pass_metric(metric: str) -> bool:
    """Whether *metric* is meant as one."""
    return metric.startswith(("pass^", "pass@"))


def pass_metric(metric: str) -> PassMetric | None:
    """What *metric* asks for; None where it is in no form that means anything."""
    found = _FORM.fullmatch(metric)
    if found is None or int(found[2]) < 1:
        return None
    return PassMetric(cast(PassKind, found[1]), int(found[2]), found[3], bool(found[4]))


def pass_estimate(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    cell: Sequence[int],
    asked: PassMetric,
    drawn: Resampling,
) -> tuple[Estimate, str | None]:
    """
    What was *asked* for, of the *records* at *cell*, and what a reader should know beside it.

    *drawn* are the resampled conversations of *records*. The turns that the estimate counts are those of the
    data, whatever the number of plays.

    Raises:
        NotEvaluatedError: the score is more than yes or no, or nothing has so many plays.
    """
    if not says_yes_or_no(column):
        raise NotEvaluatedError(f"{asked.score} is more than a yes or no, so that no play of it passes")
    every = outcomes(records, column, cell)
    cases = {case: plays for case, plays in every.items() if (case[1] is None) == asked.whole}
    of_plays = pass_column(list(cases.values()), asked.kind, asked.k)
    drawn = of_cases(drawn, records, list(cases))
    ((found,), _) = estimate_cells(of_plays, [range(len(cases))], drawn)
    noun = "conversation" if asked.whole else "turn"
    if not found.scored:
        raise NotEvaluatedError(f"no {noun} has {asked.k} plays with a score")
    left_out = len(cases) - found.scored
    if asked.whole:
        counted = {name for name, depth in cases if len(cases[name, depth]) >= asked.k}
        turns = [name for name, depth in every if depth is not None and name in counted]
        found = replace(found, scored=len(turns))
    nouns = noun if left_out == 1 else f"{noun}s"
    return found, f"{left_out:,} {nouns} left out with fewer than {asked.k} plays" if left_out else None
