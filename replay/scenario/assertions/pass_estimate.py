"""The number that an assertion on pass^k or pass@k is about, and the plays that speak against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from replay.core.record import TurnRecord
from replay.scenario.assertions.findings import NotEvaluatedError
from replay.scenario.assertions.pass_metric import PassMetric
from replay.scorers.scorer import Unscored
from replay.statistics.estimate import Estimate, Resampling, estimate_cells
from replay.statistics.pass_curves import Case, Plays, of_cases, outcomes, pass_column, says_yes_or_no
from replay.statistics.score_column import ScoreColumn


def pass_estimate(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    cell: Sequence[int],
    asked: PassMetric,
    drawn: Resampling,
) -> tuple[Estimate, str | None]:
    """
    Estimate pass^k or pass@k, as *asked*, from the *records* at *cell*.

    The turns that the estimate counts are those of the data, whatever the number of plays.

    Args:
        column: The score of each record.
        cell: Indexes of the records to count.
        drawn: The resampled conversations of *records*.

    Returns:
        The estimate with its interval, and a note on cases with fewer than k plays, or None.

    Raises:
        NotEvaluatedError: the score is not a yes or no, or nothing has as many as k plays.
    """
    if not says_yes_or_no(column):
        raise NotEvaluatedError(f"{asked.score} is more than a yes or no, so that no play of it passes")
    every = outcomes(records, column, cell)
    cases = _plays_of_level(every, asked)
    of_plays = pass_column(cases.values(), asked.kind, asked.k)
    drawn = of_cases(drawn, records, list(cases))
    ((found,), _) = estimate_cells(of_plays, [range(len(cases))], drawn)
    noun = "conversation" if asked.whole else "turn"
    if not found.scored:
        raise NotEvaluatedError(f"no {noun} has {asked.k} plays with a score")
    left_out = len(cases) - found.scored
    if asked.whole:
        counted = {name for name, depth in cases if len(cases[name, depth]) >= asked.k}
        turns = [name for name, depth in every if depth is not None and name in counted]
        found = replace(found, scored=len(turns) or found.scored)  # a simulated one has no such turns
    nouns = noun if left_out == 1 else f"{noun}s"
    return found, f"{left_out:,} {nouns} left out with fewer than {asked.k} plays" if left_out else None


def plays_against(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    cell: Sequence[int],
    asked: PassMetric,
    bound: float,
    *,
    low: bool,
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """
    Return the evidence that the number is too *low* for *bound*, or else too high.

    Args:
        column: The score of each record.
        cell: Indexes of the records to count.
        bound: The least value that is allowed if *low*, else the greatest.

    Returns:
        The turns as conversation and depth: those that were missed or, if the number is too high, passed; and
            a line for each case beyond the bound, farthest first.
    """
    cases = _plays_of_level(outcomes(records, column, cell), asked)
    values = dict(zip(cases, pass_column(cases.values(), asked.kind, asked.k).observed, strict=True))
    beyond = [
        case
        for case, value in values.items()
        if not isinstance(value, Unscored) and (value < bound if low else value > bound)
    ]
    turns = []
    for index in filter(column.is_scored, cell):
        one, passed = records[index], column.observed[index] == 1
        case = one.recorded_conversation, None if asked.whole else one.depth
        if case in beyond and passed is cases[case].get(one.repeat) is (not low):
            turns.append((one.conversation, one.depth))
    beyond.sort(key=lambda case: values[case], reverse=not low)
    return tuple(turns), tuple(_describe_case(case, cases[case], low=low) for case in beyond)


def _plays_of_level(every: Mapping[Case, Plays], asked: PassMetric) -> dict[Case, Plays]:
    return {case: plays for case, plays in every.items() if (case[1] is None) == asked.whole}


def _describe_case(case: Case, plays: Plays, *, low: bool) -> str:
    """``depth 2 of mill: passed in 2 of 4 plays, not in plays 2, 4``; too high: in which it did."""
    conversation, depth = case
    name = conversation if depth is None else f"depth {depth} of {conversation}"
    found = [str(repeat) for repeat in sorted(plays) if plays[repeat] is not low]
    listed = f"play{'' if len(found) == 1 else 's'} {', '.join(found)}"
    of = f"{name}: passed in {sum(plays.values())} of {len(plays)} plays"
    return f"{of}, not in {listed}" if low else f"{of}: in {listed}"
