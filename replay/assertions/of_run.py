"""
A run held against its own scenario's assertions.
"""

from __future__ import annotations

from replay.assertions.evaluation import Sampling, evaluate
from replay.assertions.findings import Judgement
from replay.report.compare import ScoredRun
from replay.runs import Run
from replay.scenario import Scenario
from replay.statistics.group import Group, groups_in_order


def judge_run(run: Run) -> list[Judgement]:
    """What became of the assertions in *run*'s scenario; empty where it has none."""
    file = run.scenario()
    scenario = file.scenario
    if not scenario.assertions:
        return []
    return evaluate(
        _scored(run),
        scenario.assertions,
        groups=_groups(scenario),
        baseline=lambda folder: _scored(Run(file.folder / folder)),
        sampling=Sampling(seed=scenario.seed),
    )


def _groups(scenario: Scenario) -> list[Group]:
    return groups_in_order(Group(s.name, p.label) for s in scenario.systems for p in scenario.policies)


def _scored(run: Run) -> ScoredRun:
    records, scores = run.scored()
    return ScoredRun(name=str(run.folder), records=records, scores=scores, signatures=run.signatures())
