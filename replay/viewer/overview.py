"""
*Overview*: what was run, the headline scores, what a reader has to know before believing them, and what had
to hold of the run and whether it did: assertions, a stress run's objectives, the data's checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, get_args

from replay.core.errors import ReplayError
from replay.core.expectation import CheckResult, Verdict
from replay.core.load_record import LevelPlayed, ObjectiveResult
from replay.report.charts import Chart, Style, group_label, styles
from replay.report.depth_charts import headline_curve
from replay.report.findings import MOST_REASONS
from replay.report.notes import conclusions, notes, without_passed_checks, wording_sentences
from replay.report.numbers import count_text, duration, number, usd
from replay.results.run import Run
from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.scenario.reading import ScenarioFile
from replay.statistics.checks import CheckRow, Checks
from replay.statistics.depth_table import GroupTable
from replay.statistics.estimate import Estimate
from replay.statistics.group import Group
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.load.load_summary import Knee
from replay.statistics.run_numbers import FailureReason, Report
from replay.store.page_queries import OutcomeRow, PlayProgress, RunBrowser
from replay.viewer.run_numbers import BrokenRule, GateResult, RunNumbers, assertion_id, objective_id


class Fact(NamedTuple):
    """One thing that is known of a run."""

    name: str
    value: str
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known without computing anything."""

    name: str
    folder: str
    state: str
    """``running``, ``scoring``, ``finished`` or ``stopped``."""
    counted: tuple[Fact, ...]
    """Turns, failures, cost, duration: in large print."""
    about: tuple[Fact, ...]
    failures: tuple[OutcomeRow, ...]
    reasons: tuple[FailureReason, ...]
    """Why, each once and in full; the commonest of very many."""
    systems: tuple[str, ...]
    asserts: int
    """Assertions in the scenario."""


_FIRST_BLOCK, _BLOCK = 4, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewView:
    """Headline numbers and what to read beside them."""

    units: Mapping[str, str]
    """By score, without columns of checks that all passed."""
    rows: Sequence[tuple[Style, GroupTable]]
    """Systems and policies, each with its look."""
    interval: str
    warnings: tuple[str, ...]
    signatures: Mapping[str, str]
    held: AssertionsView
    checks: CheckTotals | None
    """What became of the data's checks."""
    scales: Mapping[str, tuple[float, float]]
    """By score: the ends of what is drawn of it, which all groups share."""
    curve: Chart | None
    """One score by depth."""
    conclusions: Sequence[str]
    """What the run comes to, in a sentence for each system."""
    wording: Sequence[str]
    """How often our wording agrees with the data's, in words."""

    def place(self, name: str, score: Estimate) -> Sequence[float]:
        """Return value and ends on the scale of the score *name*, from 0 to 100; none without an interval."""
        if score.value is None or score.low is None or score.high is None:
            return ()
        start, end = self.scales[name]
        return [round(100 * (v - start) / (end - start), 2) for v in (score.value, score.low, score.high)]

    @property
    def blocks(self) -> Sequence[Mapping[str, str]]:
        """
        The units of as many scores as one table has room for on a screen of 1,280 pixels, table by table.

        The first table has counts as well.
        """
        names = list(self.units)
        starts = [0, *range(_FIRST_BLOCK, len(names), _BLOCK), len(names)]
        return [{name: self.units[name] for name in names[start:end]} for start, end in pairwise(starts)]


def facts(run: Run, browser: RunBrowser, *, state: str) -> Facts:
    """
    Return the facts about the run: its settings, counts and failures.

    Args:
        browser: A reader of the run's database.
        state: ``running``, ``scoring``, ``finished`` or ``stopped``.
    """
    rows = browser.outcomes()
    failures = tuple(row for row in rows if _is_failure(row))
    file = _scenario(run)
    fact = browser.fact
    about = [
        Fact("Begun", _moment(fact("begun"))),
        *(_systems(file) if file else [Fact("Systems", ", ".join(fact("systems") or []))]),
        Fact("Policies", ", ".join(fact("policies") or {})),
        *(_how(file) if file else []),
        *_players(fact("players")),
        Fact("Seed", str(fact("seed"))),
        Fact("convreplay", str(fact("version"))),
        Fact("Python", f"{fact('python')}, {fact('platform')}"),
        Fact("Folder", str(run.folder), is_code=True),
    ]
    return Facts(
        name=str(fact("name") or run.folder.name),
        folder=str(run.folder),
        state=state,
        counted=tuple(_count_facts(browser.progress(), browser.recorded_turns(), rows)),
        about=tuple(about),
        failures=failures,
        reasons=run.failures()[:MOST_REASONS] if failures else (),
        systems=tuple(fact("systems") or ()),
        asserts=len(file.scenario.assertions) if file else 0,
    )


def _scenario(run: Run) -> ScenarioFile | None:
    try:
        return run.scenario()
    except ReplayError:  # a plug-in it names may be gone; the numbers are there all the same
        return None


def _is_failure(row: OutcomeRow) -> bool:
    return row.outcome not in ("answered", "skipped")


def _moment(text: Any) -> str:
    try:
        return f"{datetime.fromisoformat(str(text)):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return str(text)


def _systems(file: ScenarioFile) -> Iterable[Fact]:
    for system in file.scenario.systems:
        settings = ", ".join(f"{key}: {value}" for key, value in system.settings.items())
        shown = f"{system.adapter} ({settings})" if settings else system.adapter
        yield Fact(f"System {system.name}", shown if len(shown) < 600 else shown[:600] + " …")


def _how(file: ScenarioFile) -> Iterable[Fact]:
    scenario, drift = file.scenario, file.scenario.drift
    data = ", ".join(scenario.data.paths)
    yield Fact("Data", f"{data} ({scenario.data.format})" if scenario.data.format else data)
    context = {True: "with title and background", False: "without background", "alone": "background alone"}
    rule = "" if drift.resolver == "llm" else f", {drift.mode}"  # a model gives the verdict itself
    window = "as many exchanges as fit" if drift.window is None else f"window {drift.window}"
    yield Fact("Resolver", f"{drift.resolver}{rule}, {window}, {context[drift.background]}")
    if scenario.play.repeats > 1:
        yield Fact("Repeats", f"each conversation played {scenario.play.repeats} times")
    judges = [str(one.settings.get("name", one.name)) for one in scenario.judges]
    yield Fact("Judges", ", ".join(judges) or "none")
    yield Fact("Scenario", file.source, is_code=True)


def _players(players: Sequence[Mapping[str, Any]] | None) -> Iterable[Fact]:
    """Yield a fact for each worker that plays or played; none if one process did it all."""
    for one in players or ():
        rate = f", {one['turns_per_s']:.0f}/s" if one["turns_per_s"] else ""
        state = "" if one["state"] == "playing" else f", {one['state']}"
        yield Fact(f"Played by {one['name']}", f"{count_text(one['turns'], 'turn')}{rate}{state}")


def _count_facts(progress: PlayProgress, turns: int, rows: Sequence[OutcomeRow]) -> Iterable[Fact]:
    yield Fact("conversations", f"{progress.conversations:,}")
    yield Fact("turns", f"{turns:,}")
    yield Fact("asks", f"{progress.turns:,}")
    failed = sum(row.turns for row in rows if _is_failure(row))
    yield Fact("failed", f"{failed:,}")
    ends = [row.last_done_s for row in rows if row.last_done_s is not None]
    starts = [row.first_sent_s for row in rows if row.first_sent_s is not None]
    if ends and starts:
        yield Fact("from first to last byte", duration(max(ends) - min(starts)))
    tokens = sum((row.prompt_tokens or 0) + (row.completion_tokens or 0) for row in rows)
    if tokens:
        yield Fact("tokens", f"{tokens:,}")
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    if costs:
        yield Fact("US dollars", usd(sum(costs)))


def overview(run: Run, numbers: RunNumbers) -> OverviewView:
    """Return the headline numbers of a run."""
    report = without_passed_checks(numbers.report)
    table = report.table
    looks = styles([one.group for one in table.groups])
    return OverviewView(
        units={name: column.unit for name, column in table.columns.items()},
        curve=headline_curve(report),
        rows=[(looks[one.group], one) for one in table.groups],
        scales={name: _scale([one.total.scores[name] for one in table.groups]) for name in table.columns},
        interval=(
            f"{100 * table.confidence:g} % intervals: {METHOD_NAMES[table.method]} over "
            f"{count_text(table.conversations, 'conversation')}, {table.resamples:,} resamples, "
            f"seed {table.seed}."
        ),
        warnings=tuple(warnings(run, report)),
        signatures={
            **{name: column.signature for name, column in table.columns.items()},
            **numbers.report.signatures,
        },
        held=assertions_view(numbers),
        checks=check_totals(numbers.report.checks),
        conclusions=conclusions(numbers.report),
        wording=wording_sentences(numbers.report.wording),
    )


def _scale(scores: Sequence[Estimate]) -> tuple[float, float]:
    known = [v for s in scores for v in (s.value, s.low, s.high) if v is not None]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    room = (high - low) * 0.08 or 0.5
    return low - room, high + room


def warnings(run: Run, report: Report) -> Iterable[str]:
    """Yield the sentences to read beside the numbers: the report's notes, and one on drift settings."""
    yield from notes(report)
    file = _scenario(run)
    drift_checked = any(one.total.drift_checked for one in report.table.groups)
    if file and drift_checked and not file.scenario.drift.background:
        yield (
            "the resolver read questions without the conversations' titles and backgrounds "
            "(drift.background: false), so a mention of the topic may have no antecedent."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionsView:
    """All that had to hold."""

    gate: GateResult
    levels: Sequence[LevelPlayed]
    """Of a stress run with objectives, from the lowest up."""
    limit: str
    """Up to where they were met."""
    rules: Mapping[str, BrokenRule]
    """All that failed, by id."""

    @property
    def results(self) -> Sequence[tuple[int, AssertionResult]]:
        """The assertions with their places in the scenario."""
        return list(enumerate(self.gate.results))

    @property
    def goals(self) -> Sequence[str]:
        """The objectives."""
        return list(dict.fromkeys(one.goal for level in self.levels for one in level.goals))

    def against_assertion(self, place: int, finding: Finding) -> BrokenRule | None:
        """Return the turns of the group of *finding* against the assertion at *place*, where it failed."""
        return self.rules.get(assertion_id(place, finding.group))

    def against_objective(self, level: LevelPlayed, objective: ObjectiveResult) -> BrokenRule | None:
        """Return the turns of *level* against *objective*, where it was missed."""
        return self.rules.get(objective_id(level, objective))


def assertions_view(numbers: RunNumbers) -> AssertionsView:
    """Return the view of assertions, objectives and checks, with the turns of those that do not hold."""
    levels = [level.played for level in numbers.load.levels if level.played.goals] if numbers.load else []
    knee = numbers.load.knee if numbers.load else None
    return AssertionsView(
        gate=numbers.gate, levels=levels, limit=_limit(knee) if knee else "", rules=numbers.rules
    )


def objective_value(one: ObjectiveResult) -> str:
    """Return what was measured for an objective."""
    if one.value is None:
        return "nothing measured"
    if one.key == "errors":
        return f"{number(one.value)} %"
    return number(one.value, "s" if one.key.endswith("_s") else "")


def _limit(knee: Knee) -> str:
    if knee.level is None:
        return f"The lowest level that was offered, {knee.missed}, missed its objectives."
    beyond = f"{knee.missed} missed them" if knee.missed else "nothing higher was offered"
    return f"Objectives were met up to {knee.level}; {beyond}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksByDepth:
    """The checks of one group: a line for each depth, a cell for each column."""

    group: Group
    names: list[str]
    lines: Sequence[tuple[int | None, Sequence[CheckRow | None]]]
    """None for a column that nothing counts in at this depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTotals:
    """All checks of a run: a line for each column of checks, a cell for each group (None without any)."""

    heads: Sequence[str]
    """The groups."""
    lines: Sequence[tuple[str, Sequence[CheckRow | None]]]
    """With some that failed or could not be looked at."""
    passed: Sequence[tuple[str, Sequence[CheckRow | None]]]
    """Without any."""


def check_totals(checks: Checks | None) -> CheckTotals | None:
    """Return a line for each column of checks, over all depths; None without checks."""
    if not checks or not checks.totals:
        return None
    cells = {(row.name, row.group): row for row in checks.totals}
    groups = list(dict.fromkeys(group for _, group in cells))
    lines = [
        (name, [cells.get((name, group)) for group in groups])
        for name in dict.fromkeys(name for name, _ in cells)
    ]
    passed = [
        line
        for line in lines
        if all(not one or not (one.counts.failed or one.counts.unchecked) for one in line[1])
    ]
    return CheckTotals(
        heads=[group_label(group, groups) for group in groups],
        lines=[line for line in lines if line not in passed],
        passed=passed,
    )


def checks_by_depth(checks: Checks | None) -> Iterator[ChecksByDepth]:
    """Yield the checks of each group, apart for each depth; all depths last."""
    rows = checks.rows if checks else ()
    for group in dict.fromkeys(row.group for row in rows):
        cells = {(row.depth, row.name): row for row in rows if row.group == group}
        names = list(dict.fromkeys(name for _, name in cells))
        depths = sorted({depth for depth, _ in cells if depth is not None})
        yield ChecksByDepth(
            group=group,
            names=names,
            lines=[(depth, [cells.get((depth, name)) for name in names]) for depth in (*depths, None)],
        )


def summarize_checks(checks: Sequence[CheckResult]) -> str:
    """Return the number of *checks* by verdict, such as ``3 passed, 1 failed``."""
    counts = Counter(one.verdict for one in checks)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict) if counts[verdict])
