"""
*Overview*: what was run, the headline scores, and what a reader has to know before believing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from replay.core.errors import ReplayError
from replay.report.notes import notes
from replay.report.pages import figures
from replay.report.pages.figures import Style
from replay.report.pages.numbers import duration, number, unit_name, usd
from replay.report.pages.run_numbers import RunNumbers
from replay.runs.run import Run
from replay.scenario.reading import ScenarioFile
from replay.statistics.depth_table import GroupTable
from replay.statistics.estimate import Estimate
from replay.statistics.group import Group
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.run_numbers import Report
from replay.store.browsing import OutcomeRow, Progress, RunBrowser


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
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
    failures: tuple[tuple[str, str, str, int], ...]
    """System, policy, outcome, turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One score of one group over all depths."""

    value: str
    low: str
    high: str
    scored: int
    at: tuple[float, float, float] | None
    """Value and ends on a scale from 0 to 100, the same for the whole column; None without an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlineRow:
    group: Group
    style: Style
    turns: int
    invalid: str
    edited: str
    failed: int
    scores: tuple[Headline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Headline numbers and what to read beside them."""

    heads: tuple[tuple[str, str], ...]
    """Score and unit."""
    rows: tuple[HeadlineRow, ...]
    interval: str
    warnings: tuple[str, ...]
    signatures: Mapping[str, str]


def facts(run: Run, browser: RunBrowser, *, state: str) -> Facts:
    """What was run and how it went, from counts alone."""
    progress, rows = browser.progress(), browser.outcomes()
    policies: Mapping[str, str] = browser.fact("policies") or {}
    file = _scenario(run)
    about = [
        Fact(name="Begun", value=_moment(browser.fact("begun"))),
        *(_systems(file) if file else [Fact(name="Systems", value=", ".join(browser.fact("systems") or []))]),
        Fact(name="Policies", value=", ".join(policies)),
        *(_how(file) if file else []),
        Fact(name="Seed", value=str(browser.fact("seed"))),
        Fact(name="convreplay", value=str(browser.fact("version"))),
        Fact(name="Python", value=f"{browser.fact('python')}, {browser.fact('platform')}"),
        Fact(name="Folder", value=str(run.folder), is_code=True),
    ]
    return Facts(
        name=str(browser.fact("name") or run.folder.name),
        folder=str(run.folder),
        state=state,
        counted=tuple(_counted(progress, rows)),
        about=tuple(about),
        failures=tuple((r.system, r.policy, r.outcome, r.turns) for r in rows if _failed(r)),
    )


def _scenario(run: Run) -> ScenarioFile | None:
    try:
        return run.scenario()
    except ReplayError:  # a plug-in it names may be gone; the numbers are there all the same
        return None


def _failed(row: OutcomeRow) -> bool:
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
        yield Fact(name=f"System {system.name}", value=shown if len(shown) < 600 else shown[:600] + " …")


def _how(file: ScenarioFile) -> Iterable[Fact]:
    scenario, drift = file.scenario, file.scenario.drift
    data = ", ".join(scenario.data.paths)
    yield Fact(name="Data", value=f"{data} ({scenario.data.format})" if scenario.data.format else data)
    context = "with" if drift.background else "without"
    yield Fact(
        name="Resolver", value=f"{drift.resolver}, {drift.mode}, window {drift.window}, {context} background"
    )
    judges = [str(one.settings.get("name", one.name)) for one in scenario.judges]
    yield Fact(name="Judges", value=", ".join(judges) or "none")
    yield Fact(name="Scenario", value=file.source, is_code=True)


def _counted(progress: Progress, rows: Sequence[OutcomeRow]) -> Iterable[Fact]:
    yield Fact(name="turns", value=f"{progress.turns:,}")
    yield Fact(name="conversations", value=f"{progress.conversations:,}")
    failed = sum(row.turns for row in rows if _failed(row))
    yield Fact(name="failed", value=f"{failed:,}")
    ends = [row.last_done_s for row in rows if row.last_done_s is not None]
    starts = [row.first_sent_s for row in rows if row.first_sent_s is not None]
    if ends and starts:
        yield Fact(name="from first to last byte", value=duration(max(ends) - min(starts)))
    tokens = sum((row.prompt_tokens or 0) + (row.completion_tokens or 0) for row in rows)
    if tokens:
        yield Fact(name="tokens", value=f"{tokens:,}")
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    if costs:
        yield Fact(name="US dollars", value=usd(sum(costs)))


def overview(run: Run, numbers: RunNumbers) -> Overview:
    """The headline numbers of a run."""
    report = numbers.report
    table = report.table
    looks = figures.styles([one.group for one in table.groups])
    scales = {name: _scale([one.total.scores[name] for one in table.groups]) for name in table.columns}
    return Overview(
        heads=tuple((name, unit_name(column.unit)) for name, column in table.columns.items()),
        rows=tuple(_row(one, report, looks[one.group], scales) for one in table.groups),
        interval=(
            f"{100 * table.confidence:g} % intervals: {METHOD_NAMES[table.method]} over "
            f"{table.conversations:,} conversations, {table.resamples:,} resamples, seed {table.seed}."
        ),
        warnings=tuple(warnings(run, report)),
        signatures={**{name: c.signature for name, c in table.columns.items()}, **report.signatures},
    )


def _row(
    one: GroupTable, report: Report, style: Style, scales: Mapping[str, tuple[float, float]]
) -> HeadlineRow:
    total = one.total
    return HeadlineRow(
        group=one.group,
        style=style,
        turns=total.turns,
        invalid=number(total.invalid_share),
        edited=number(total.edited_share),
        failed=total.failed,
        scores=tuple(
            _headline(total.scores[name], column.unit, scales[name])
            for name, column in report.table.columns.items()
        ),
    )


def _scale(scores: Sequence[Estimate]) -> tuple[float, float]:
    known = [v for s in scores for v in (s.value, s.low, s.high) if v is not None]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    room = (high - low) * 0.08 or 0.5
    return low - room, high + room


def _headline(score: Estimate, unit: str, scale: tuple[float, float]) -> Headline:
    at = None
    if score.value is not None and score.low is not None and score.high is not None:
        width = scale[1] - scale[0]
        value, low, high = ((100 * (v - scale[0]) / width) for v in (score.value, score.low, score.high))
        at = (round(value, 2), round(low, 2), round(high, 2))
    return Headline(
        value=number(score.value, unit),
        low=number(score.low, unit),
        high=number(score.high, unit),
        scored=score.scored,
        at=at,
    )


def warnings(run: Run, report: Report) -> Iterable[str]:
    """What to know beside the numbers, in words: the report's notes, and what the scenario gives away."""
    yield from notes(report)
    file = _scenario(run)
    drift_checked = any(one.total.drift_checked for one in report.table.groups)
    if file and drift_checked and not file.scenario.drift.background:
        yield (
            "the resolver read questions without the conversations' titles and backgrounds "
            "(drift.background: false), so a mention of the topic may have no antecedent."
        )


def skipped_conversations(run: Run) -> int:
    return run.state().skipped_conversations
