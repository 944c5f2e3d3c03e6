"""
Two runs compared, or two policies or systems of one: what ``replay compare`` says, for a program; and a run
held against its own scenario's assertions.

Of a load run, what counts for assertions are the turns due in a level's measured window, all levels together,
as in its own report; what was asked while it warmed up is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.core.errors import InputError, RunError
from replay.core.expectation import CheckResult
from replay.core.record import TurnRecord
from replay.results.run import Run
from replay.scenario.assertions.evaluation import evaluate
from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.scenario.sections import Scenario
from replay.statistics.estimate import Sampling
from replay.statistics.group import Group, groups_in_order, pair_groups, select_groups
from replay.statistics.interval import IntervalMethod
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_comparison import ScoredRun
from replay.store.reader import DATABASE

if TYPE_CHECKING:
    import pandas as pd

    from replay.statistics.comparison_gate import ComparisonGate
    from replay.statistics.run_comparison import ComparisonReport, ScoredRun


ANY = "any"
"""For *fail_on*: every score that is compared, and errors."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunComparison:
    """By how much the second side differs from the first, on the same turns."""

    report: ComparisonReport
    gate: ComparisonGate | None
    """What became of the scores of *fail_on*: ``gate.holds``, ``gate.losses``; None where none was named."""

    def __str__(self) -> str:
        from replay.results.notebook_display import comparison_text

        return comparison_text(self.report, self.gate)

    def __repr__(self) -> str:
        return "RunComparison({!r}, {!r})".format(*self.report.runs)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the comparison as text and HTML."""
        from replay.results.notebook_display import comparison_view

        return comparison_view(self.report, self.gate).bundle

    def _ipython_display_(self) -> None:
        """Show the comparison with its figures in a notebook."""
        from replay.results.notebook_display import comparison_view

        comparison_view(self.report, self.gate).show()

    def to_json(self) -> dict[str, Any]:
        """Return plain values as ``replay compare --json`` prints them; scores are shares in [0, 1]."""
        return {**self.report.to_json(), **({"gate": self.gate.to_json()} if self.gate else {})}

    def to_frame(self) -> pd.DataFrame:
        """Return the comparison as a table; see ``ComparisonReport.to_frame`` for its columns."""
        return self.report.to_frame()


def compare(
    first: Run | str | Path,
    second: Run | str | Path | None = None,
    *,
    metrics: str | Sequence[str] = (),
    by_depth: bool = False,
    system: str | Sequence[str] = (),
    policy: str | Sequence[str] = (),
    systems: tuple[str, str] | None = None,
    policies: tuple[str, str] | None = None,
    fail_on: str | Sequence[str] = (),
    alpha: float = 0.05,
    flip_at: float = 0.5,
    resamples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
    interval: IntervalMethod = "t",
) -> RunComparison:
    """
    Compare *second* with *first*, runs or their folders, on the turns that both have.

    All scores, or *metrics*, or those of *fail_on*; of all systems and policies, or of those in *system* and
    *policy*. *systems* and *policies* name what differs on purpose, as within one run:
    ``compare(run, policies=("gold", "pred"))``. Of *fail_on* (``any``: every score, and errors) the gate says
    which scores are significantly worse, with p at most *alpha* after Holm's correction, and whether the data
    could have told at all (``gate.is_decided``); ``checks`` are the data's checks that newly fail. *interval*
    is the kind of interval around differences: ``t``, ``percentile`` or ``bca``.

    Raises:
        InputError: there is nothing to compare, a name is not there, or its numbers can't be compared.
        RunError: there is no such run.
    """
    from replay.statistics.comparison import ComparisonSettings
    from replay.statistics.comparison_gate import CHECKS, gate
    from replay.statistics.run_comparison import comparison_report

    if second is None and not (systems or policies):
        raise InputError(
            'one run: name what to compare in it, as policies=("gold", "pred") or systems=("old", "new") do, '
            "or a second run"
        )
    if not 0 < alpha < 1:
        raise InputError(f"alpha {alpha:g}: a number between 0 and 1 is expected, as .05")
    gated = _names(fail_on)
    scores = [name for name in gated if name not in (ANY, CHECKS)]
    named = list(dict.fromkeys([*_names(metrics), *(scores if ANY not in gated else ())]))
    found = [
        _with_operational(_scored_run(run), ["errors", *named] if gated else named)
        for run in ([first] if second is None else [first, second])
    ]
    one, other = found[0], found[-1]
    sides = [select_groups(run.groups(), _names(system), _names(policy)) for run in (one, other)]
    pairs = pair_groups(*sides, systems=systems, policies=policies)
    settings = ComparisonSettings(
        by_depth=by_depth,
        flip_at=flip_at,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        method=interval,
    )
    report = comparison_report(one, other, pairs, metrics=named, settings=settings)
    compared = list(dict.fromkeys(one.score for pair in report.pairs for one in pair.comparisons))
    paired = {group for group, _ in pairs}
    outcome = gate(
        report,
        [*compared, *([CHECKS] if CHECKS in gated else [])] if ANY in gated else gated,
        alpha=alpha,
        missing=[] if systems or policies else [group for group in sides[0] if group not in paired],
    )
    return RunComparison(report=report, gate=outcome if gated else None)


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _scored_run(run: Run | str | Path) -> ScoredRun:
    run = run if isinstance(run, Run) else Run(run)
    return run.scored_run(str(run.folder))


def _with_operational(run: ScoredRun, names: Sequence[str]) -> ScoredRun:
    """Return *run* with scores for those of *names* that it lacks and that its records give."""
    from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS, TotalCost
    from replay.statistics.score_column import ScoreColumn

    read = {
        name: ScoreColumn(scorer=scorer, observed=tuple(scorer.observe(run.records)))
        for name in names
        if name not in run.scores
        and (scorer := OPERATIONAL_METRICS.get(name)) is not None
        and not isinstance(scorer, TotalCost)  # a sum over turns, which a comparison's few would not be
    }
    return replace(run, scores={**run.scores, **read})


def baseline_run(folder: Path) -> Path | None:
    """
    Return the run in *folder*: the folder itself, or the only run in it; None if there is nothing yet.

    Raises:
        InputError: it holds something else, or several runs.
    """
    if (folder / DATABASE).is_file():
        return folder
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    found = sorted(path.parent for path in folder.glob(f"*/{DATABASE}"))
    if len(found) != 1:
        several = f"{len(found)} runs ({', '.join(run.name for run in found[:5])}); name one of them"
        nothing = f"something, but no run (no {DATABASE}); name a run's folder, or one that isn't there yet"
        raise InputError(f'--baseline "{folder}" holds {several if found else nothing}')
    return found[0]


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
        scored = _measured_run(run)
    except RunError as error:
        findings = tuple(Finding(group=group, holds=False, reason=str(error)) for group in groups)
        return [AssertionResult(assertion=one, findings=findings) for one in scenario.assertions]
    return evaluate(
        scored,
        scenario.assertions,
        groups=groups,
        baseline=lambda folder: _measured_run(Run(file.folder / folder)),
        sampling=Sampling(seed=scenario.seed),
    )


def _groups(scenario: Scenario) -> list[Group]:
    return groups_in_order(Group(s.name, p.label) for s in scenario.systems for p in scenario.policies)


def _measured_run(run: Run) -> ScoredRun:
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
