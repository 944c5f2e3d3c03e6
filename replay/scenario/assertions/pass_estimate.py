"""The number that an assertion on pass^k or pass@k is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replay.core.record import TurnRecord
from replay.scenario.assertions.findings import NotEvaluatedError
from replay.scenario.assertions.pass_metric import PassMetric
from replay.statistics.estimate import Estimate, Resampling, estimate_cells
from replay.statistics.pass_curves import of_cases, outcomes, pass_column, says_yes_or_no
from replay.statistics.score_column import ScoreColumn


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
