"""
Holds a run's numbers against a scenario's assertions.

A bound is held against the number itself, not against an end of its interval, which is shown beside it.
A change is that of ``replay compare``: on the turns that both runs have a number for and whose question
and gold answers are the same, with its paired permutation test. ``significant: true`` fails a change only
if the test's p is at most 0.05 as well; p is not corrected for other assertions. With fewer than six
conversations no p is, so such an assertion can't be evaluated.

What can't be evaluated fails, with the reason: an assertion that silently didn't run is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property

from replay.core.errors import ReplayError
from replay.core.settings.faults import nearest
from replay.scenario.assertions.findings import (
    AssertionResult,
    Finding,
    NotEvaluatedError,
    pass_estimate,
    plays_against,
    with_checks,
)
from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS, TotalCost
from replay.scenario.assertions.section import Assertion, DepthRange, pass_metric
from replay.scorers.checks.kinds import is_column
from replay.statistics.comparison import ComparisonSettings, ComparisonSide, compare_sides
from replay.statistics.estimate import Resampling, Sampling, estimate_cells, resampling
from replay.statistics.group import Group, group_of
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.score_column import ScoreColumn

SIGNIFICANT = 0.05
FEWEST = 6
"""The fewest conversations with a p of at most ``SIGNIFICANT``: of n, two swaps of 2^n are as extreme."""


def evaluate(
    run: ScoredRun,
    assertions: Sequence[Assertion],
    *,
    groups: Sequence[Group],
    baseline: Callable[[str], ScoredRun],
    sampling: Sampling,
) -> list[AssertionResult]:
    """
    Return the result of each of *assertions* on *run*.

    Args:
        groups: The systems and policies that were to be played, those without a record included.
        baseline: Opens the run that a ``compare`` names; may raise any ``ReplayError``.
    """
    held = _AssertionEvaluator(run, groups, cache(baseline), sampling)
    return [
        AssertionResult(
            assertion=one,
            findings=tuple(
                held.finding(one, group)
                for group in groups
                if one.system in (None, group.system) and one.policy in (None, group.policy)
            )
            or (_nobody(one),),
        )
        for one in assertions
    ]


def _nobody(one: Assertion) -> Finding:
    reason = "the scenario has no such system and policy"
    return Finding(group=Group(one.system or "-", one.policy or "-"), holds=False, reason=reason)


class _AssertionEvaluator:
    """A run that is held against one assertion after another; what is costly is done once."""

    def __init__(
        self,
        run: ScoredRun,
        groups: Sequence[Group],
        baseline: Callable[[str], ScoredRun],
        sampling: Sampling,
    ) -> None:
        self.run = run
        self.groups = groups
        self.baseline = baseline
        self.sampling = sampling

    @cached_property
    def resampled_indices(self) -> Resampling:
        """The resampled conversations are those of the depth table."""
        return resampling(
            [record.recorded_conversation for record in self.run.records],
            **self.sampling,
        )

    def finding(self, one: Assertion, group: Group) -> Finding:
        found = self.of_number(one, group)
        return with_checks(found, one, self.run.checks) if is_column(one.score) else found

    def of_number(self, one: Assertion, group: Group) -> Finding:
        try:
            return (
                self.against_bound(one, group)
                if one.compare is None
                else self.change_finding(one, group, one.compare)
            )
        except NotEvaluatedError as error:
            return Finding(group=group, holds=False, reason=str(error))
        except ReplayError as error:
            return Finding(group=group, holds=False, reason=str(error).replace("\n", " "))

    def against_bound(self, one: Assertion, group: Group) -> Finding:
        asked = pass_metric(one.metric)
        column = _column(self.run, one.score)
        cell = _cell(self.run, column, one.depth, group)
        remark = None
        if asked:
            found, remark = pass_estimate(self.run.records, column, cell, asked, self.resampled_indices)
        else:
            ((found,), _) = estimate_cells(column, [cell], self.resampled_indices)
        if found.value is None:
            raise NotEvaluatedError(f"{one.metric} is not defined over these turns")
        below = one.min is not None and found.value < one.min
        above = one.max is not None and found.value > one.max
        bound = _nearer(found.value, one.min, one.max)
        finding = Finding(
            group=group,
            holds=not (below or above),
            value=found.value,
            low=found.low,
            high=found.high,
            bound=bound,
            turns=found.scored,
            conversations=found.conversations,
            remark=remark,
        )
        if finding.holds:
            return finding
        if asked:
            against, cases = plays_against(self.run.records, column, cell, asked, bound, low=below)
            return replace(finding, against=against, cases_against=cases)
        return replace(finding, against=_against(_numbers(self.run, column, cell), bound, low=below))

    def change_finding(self, one: Assertion, group: Group, folder: str) -> Finding:
        other = self.baseline(folder)
        column, before = _column(self.run, one.metric), _column(other, one.metric)
        if (now := column.scorer.signature) != (then := before.scorer.signature):
            raise NotEvaluatedError(
                f"{one.metric} means two things: {then} in {other.name}, {now} here; score one of the runs "
                "anew with `replay score`"
            )
        sides = (
            _side(other, one.metric, before, one.depth, _counterpart(group, self.groups, other)),
            _side(self.run, one.metric, column, one.depth, group),
        )
        settings = ComparisonSettings(**self.sampling)
        (found,) = compare_sides(*sides, [one.metric], settings)
        row = found.total
        change = row.difference
        if change.value is None or row.test is None:
            raise NotEvaluatedError(f"no turn at {one.depth} has a {one.metric} in both runs")
        if one.significant and change.conversations < FEWEST:
            raise NotEvaluatedError(
                f"too few conversations ({change.conversations}) for any change to be significant; compare "
                f"{FEWEST} or more, or leave significant out"
            )
        fall = one.max_drop is not None
        bound = -(one.max_drop or 0.0) if fall else one.max_rise or 0.0
        beyond = change.value < bound if fall else change.value > bound
        by_chance = one.significant and row.test.p > SIGNIFICANT
        changes = _changes(*sides, one.metric) if beyond and not by_chance else {}
        return Finding(
            group=group,
            holds=not beyond or by_chance,
            value=change.value,
            low=change.low,
            high=change.high,
            bound=bound,
            turns=change.turns,
            conversations=change.conversations,
            before=row.first,
            after=row.second,
            p=row.test.p,
            remark=_remark(beyond and by_chance, row.test.conversations, found.one_sided + found.unlike),
            against=_against(changes, 0.0, low=fall),
        )


def _nearer(value: float, least: float | None, most: float | None) -> float:
    """Return the bound that *value* breaks, or comes closest to."""
    bounds = [bound for bound in (least, most) if bound is not None]
    if least is not None and value < least:
        return least
    if most is not None and value > most:
        return most
    return min(bounds, key=lambda bound: abs(value - bound))


Numbers = Mapping[tuple[str, int], float | None]
"""By conversation and depth; None for an observation that is no number."""


def _numbers(run: ScoredRun | ComparisonSide, column: ScoreColumn, cell: Iterable[int]) -> Numbers:
    found = ((run.records[i], column.observed[i]) for i in cell if column.is_scored(i))
    return {(r.conversation, r.depth): v if isinstance(v, int | float) else None for r, v in found}


def _changes(first: ComparisonSide, second: ComparisonSide, metric: str) -> Numbers:
    """Return *second* minus *first*, on the turns that both asked about the same thing."""
    sides = (first, second)
    before, after = (_numbers(side, side.scores[metric], range(len(side.records))) for side in sides)
    asked, again = (
        {(r.conversation, r.depth): (r.recorded, r.gold_answers) for r in side.records} for side in sides
    )
    return {
        turn: None if value is None or (other := before[turn]) is None else value - other
        for turn, value in after.items()
        if turn in before and asked[turn] == again[turn]
    }


def _against(numbers: Numbers, bound: float, *, low: bool) -> tuple[tuple[str, int], ...]:
    """
    Return the turns below *bound* where the number is too *low*, else above; all where that is said of none.
    """
    beyond = tuple(
        turn
        for turn, value in numbers.items()
        if value is not None and (value < bound if low else value > bound)
    )
    return beyond or tuple(numbers)


def _remark(excused: bool, differing: int, left_out: int) -> str | None:
    said = []
    if excused:
        said.append("not significant")
        if (least := 2 / 2**differing) > SIGNIFICANT:
            said.append(f"{differing} conversations that differ can't give a p below {min(1.0, least):.2g}")
    if left_out:
        said.append(f"{left_out:,} turn{'' if left_out == 1 else 's'} left out that only one run has so")
    return "; ".join(said) or None


def _counterpart(group: Group, groups: Sequence[Group], other: ScoredRun) -> Group:
    """Return the group of *other* to compare with; a lone system may have been called otherwise there."""
    theirs = other.groups()
    if group in theirs:
        return group
    lone = len({one.system for one in groups}) == 1 == len({one.system for one in theirs})
    found = [one for one in theirs if lone and one.policy == group.policy]
    if not found:
        listed = "; ".join(map(str, theirs)) or "no record"
        raise NotEvaluatedError(f"{other.name} has nothing to compare with {group} (it has {listed})")
    return found[0]


def _column(run: ScoredRun, metric: str) -> ScoreColumn:
    if metric in run.scores:
        return run.scores[metric]
    scorer = OPERATIONAL_METRICS.get(metric)
    if scorer is None:
        known = ", ".join([*run.scores, *OPERATIONAL_METRICS])
        raise NotEvaluatedError(
            f'{run.name} has no "{metric}"{nearest(metric, run.scores)} (known: {known}); '
            "`replay score` adds a score"
        )
    return ScoreColumn(scorer=scorer, observed=tuple(scorer.observe(run.records)))


def _cell(run: ScoredRun, column: ScoreColumn, depths: DepthRange, group: Group) -> list[int]:
    """
    Return the group's records at *depths*.

    Raises:
        NotEvaluatedError: none of them has an observation, or a sum would lack some.
    """
    records = run.records
    cell = [i for i, r in enumerate(records) if r.depth in depths and group_of(r) == group]
    if not cell:
        raise NotEvaluatedError(f"no turn was asked at {depths}")
    scored = [i for i in cell if column.is_scored(i)]
    if not scored:
        reasons = dict.fromkeys(column.observed[i].reason for i in cell)
        turns = "the only turn" if len(cell) == 1 else f"none of the {len(cell):,} turns"
        counts = "doesn't count" if len(cell) == 1 else "counts"
        raise NotEvaluatedError(f"{turns} at {depths} {counts} ({', '.join(reasons)})")
    if isinstance(column.scorer, TotalCost):
        unknown = sum(records[i].outcome == "answered" and not column.is_scored(i) for i in cell)
        if unknown:
            turns = "turn was" if len(cell) == 1 else "turns were"
            raise NotEvaluatedError(f"{unknown:,} of {len(cell):,} {turns} answered without a cost")
    return cell


def _side(
    run: ScoredRun, metric: str, column: ScoreColumn, depths: DepthRange, group: Group
) -> ComparisonSide:
    cell = _cell(run, column, depths, group)
    return ComparisonSide(records=[run.records[i] for i in cell], scores={metric: column.at(cell)})
