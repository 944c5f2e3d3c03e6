"""
A run held against its own scenario's assertions.

Of a load run, what counts are the turns due in a level's measured window, all levels together, as in its
own report; what was asked while it warmed up is left out.
"""

from __future__ import annotations

from dataclasses import replace

from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.record import TurnRecord
from replay.results.run import Run
from replay.scenario.assertions.evaluation import evaluate
from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.scenario.sections import Scenario
from replay.statistics.estimate import Sampling
from replay.statistics.group import Group, groups_in_order
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_comparison import ScoredRun


def check_assertions(run: Run) -> list[AssertionResult]:
    """
    Return the result of each assertion in *run*'s scenario; empty if it has none.

    If the run's turns can't be evaluated, as in a load run that kept some only as counts, no assertion holds
    and each finding gives the reason.
    """
    file = run.scenario()
    scenario = file.scenario
    if not scenario.assertions:
        return []
    groups = _groups(scenario)
    try:
        scored = _scored(run)
    except RunError as error:
        findings = tuple(Finding(group=group, holds=False, reason=str(error)) for group in groups)
        return [AssertionResult(assertion=one, findings=findings) for one in scenario.assertions]
    return evaluate(
        scored,
        scenario.assertions,
        groups=groups,
        baseline=lambda folder: _scored(Run(file.folder / folder)),
        sampling=Sampling(seed=scenario.seed),
    )


def _groups(scenario: Scenario) -> list[Group]:
    return groups_in_order(Group(s.name, p.label) for s in scenario.systems for p in scenario.policies)


def _scored(run: Run) -> ScoredRun:
    """
    Raises:
        RunError: a load run has more turns than it kept.
    """
    load = run.load_summary(resamples=0) if run.is_load() else None
    tallied = sum(level.total.tallied for level in load.levels) if load else 0
    if tallied:
        raise RunError(
            f"{run.folder} kept {tallied:,} turns only as counts, so nothing can be said of all of them; "
            "raise load.keep_turns"
        )
    found = run.scored_run(str(run.folder))
    if load is None:
        return found
    places = [place for place, record in enumerate(found.records) if _is_measured(record, load)]
    records = [found.records[place] for place in places]
    asked, measured = (set(map(_turn_of, some)) for some in (found.records, records))
    plays = {turn[:-1] for turn in measured}
    return replace(
        found,
        records=records,
        scores={name: column.at(places) for name, column in found.scores.items()},
        checks=[
            check
            for check in found.checks
            if (turn := _turn_of(check)) in measured or (turn not in asked and turn[:-1] in plays)
        ],
    )


def _turn_of(one: TurnRecord | CheckResult) -> tuple[str, str, str, int]:
    return one.conversation, one.system, one.policy, one.depth


def _is_measured(record: TurnRecord, load: LoadSummary) -> bool:
    """Return whether *record* was due in a measured window; a turn that was not asked was due at no time."""
    due_s = None if record.timing is None else record.timing.scheduled_s
    return due_s is not None and any(
        level.played.measured_from_s <= due_s < level.played.measured_to_s for level in load.levels
    )
