"""A run's report, and how far several runs lie apart, as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from replay.report import run_tables, script_tables
from replay.report.depth_charts import depth_figures
from replay.report.document import (
    Block,
    Inline,
    ItemList,
    Name,
    Pairs,
    Paragraph,
    PlainLines,
    ReportDocument,
    ReportSection,
    Table,
    Trend,
    notes_section,
    scales,
    trend_notes,
    with_trends,
)
from replay.report.findings import (
    assertion_count,
    assertion_item,
    failed_turns,
    failure_lines,
    unchecked_lines,
)
from replay.report.notes import conclusions, notes, without_passed_checks
from replay.report.numbers import count_text
from replay.report.printing import LAYOUTS, TextColumn
from replay.scenario.assertions.findings import AssertionResult
from replay.statistics.checks import Checks
from replay.statistics.group import Group
from replay.statistics.people import HumanNumber, HumanScores, HumanTable
from replay.statistics.repeats import RepeatNumbers, SameAnswers, SpreadRow
from replay.statistics.run_numbers import FailureReason, GroupServerTimes, Report
from replay.statistics.users import GroupInterventions, GroupSimulations

LONG = 12
"""Depth tables with more rows together are folded, so that a comment stays short."""
MOST_STUDY_ROWS = 24
"""Longer tables of a study, of all scores under all policies, are for files and pages."""


def run_document(
    report: Report, *, title: str = "", results: Sequence[AssertionResult] = ()
) -> ReportDocument:
    """Return the report of the run called *title*, with the *results* of its assertions."""
    report = without_passed_checks(report)
    table = report.table
    sections: list[ReportSection] = []
    if results:
        items = [assertion_item(one) for one in sorted(results, key=lambda one: one.holds)]
        sections.append(
            ReportSection(name="assertions", title=assertion_count(results), blocks=[ItemList(items)])
        )
    if not table.groups:
        nothing = ReportSection(name="nothing", blocks=[Paragraph(["No turn has been asked yet."])])
        said = [notes_section(report.remarks)] if report.remarks else []
        return ReportDocument(title=(Name(title),), sections=[*sections, nothing, *said])
    concluded: list[Block] = [Paragraph([sentence]) for sentence in conclusions(report)]
    sections += [
        ReportSection(
            name="totals",
            title="All depths",
            blocks=[Table(columns=lambda layout: _totals(report), named=2)],
            remarks=trend_notes(table),
        ),
        ReportSection(name="figures", blocks=depth_figures(report)),
        *_depths(report),
        *_turn_groups(report),
        *([ReportSection(name="conclusions", blocks=concluded)] if concluded and not report.gaps else []),
        *(script_tables.recorded_sections(report.recorded) if report.recorded else ()),
        *(checks_sections(report.checks) if report.checks else ()),
    ]
    if report.survival:
        survival = Table(columns=lambda layout: script_tables.survival_columns(report.survival, layout))
        sections.append(ReportSection(name="survival", title=script_tables.SURVIVAL_TITLE, blocks=[survival]))
    if report.gaps:
        gaps = Table(columns=lambda layout: run_tables.gap_columns(report.gaps, layout), signed=True)
        baselines = dict.fromkeys(gap.first.policy for gap in report.gaps)
        title_of_gaps = ("Against ", *_between(map(Name, baselines), "/"), ", on the same turns")
        sections.append(ReportSection(name="differences", title=title_of_gaps, blocks=[gaps, *concluded]))
    sections += [
        *_interventions(report.interventions),
        *_simulations(report.simulations),
        *(_repeats(report.repeats) if report.repeats else ()),
        *(_people(report.people) if report.people else ()),
        *_server_times(report.server),
        *failures_sections(report.failures),
        notes_section([run_tables.scale_note(table), run_tables.interval_note(table)], notes(report)),
        signatures_section({**{n: c.signature for n, c in table.columns.items()}, **report.signatures}),
    ]
    return ReportDocument(title=(Name(title),), sections=sections)


def _between(parts: Iterable[str], mark: str) -> Iterator[str]:
    """Yield *parts* with *mark* between them."""
    for place, one in enumerate(parts):
        yield from (mark, one) if place else (one,)


def _totals(report: Report) -> list[TextColumn]:
    """Return a row for each system and policy, each score with its trend."""
    system, policy, turns, *others = run_tables.total_columns(report.table)
    count = len(report.table.columns)
    return [system, policy, turns, *with_trends(others[:count], report.table), *others[count:]]


def group_title(group: Group) -> Inline:
    """Return ``bot, pred``, both names."""
    return Name(group.system), ", ", Name(group.policy)


def _depths(report: Report) -> Iterator[ReportSection]:
    table, known = report.table, scales(report.table)
    is_long = sum(len(group.rows) for group in table.groups) > LONG
    for one in table.groups:
        depths = Table(
            columns=lambda layout, one=one: run_tables.depth_columns(one, table, layout),  # type: ignore[misc]
            total=True,
            trend=Trend(group=one, table=table, scales=known),
        )
        latency = run_tables.latency_lines(one.total)
        yield ReportSection(
            name="depth table",
            lead="By depth: ",
            title=group_title(one.group),
            blocks=[depths, *([PlainLines(latency)] if latency else [])],
            folded=is_long,
        )


def _turn_groups(report: Report) -> Iterator[ReportSection]:
    for one in report.turn_groups:
        groups = Table(
            columns=lambda layout, one=one: run_tables.turn_group_columns(one, report.table, layout),  # type: ignore[misc]
            named=3,
        )
        yield ReportSection(
            name="turn groups", title=f"By {one.by}", blocks=[groups], folded=len(one.rows) > LONG
        )


def checks_sections(checks: Checks) -> Iterator[ReportSection]:
    """Yield the counts of *checks*, with why some could not be looked at, and the first that failed."""
    groups = run_tables.by_group(checks)
    reasons = [f"{group}: {line}" for group, rows in groups.items() for line in unchecked_lines(rows)]
    counts = Table(columns=lambda layout: run_tables.check_columns(checks), named=3)
    yield ReportSection(
        name="checks", title="Checks", blocks=[counts, *([ItemList(reasons)] if reasons else [])]
    )
    if checks.failed:
        turns = failed_turns(checks.failed, names_groups=len(groups) > 1)
        yield ReportSection(name="failed checks", title="Failed checks", blocks=[turns])


def _interventions(found: Sequence[GroupInterventions]) -> Iterator[ReportSection]:
    for one in found:
        table = Table(columns=lambda layout, one=one: script_tables.intervention_columns(one), total=True)  # type: ignore[misc]
        yield ReportSection(
            name="interventions", title=(*group_title(one.group), ": interventions"), blocks=[table]
        )


def _simulations(found: Sequence[GroupSimulations]) -> Iterator[ReportSection]:
    if found:
        table = Table(columns=lambda layout: script_tables.simulation_columns(found), named=2)
        yield ReportSection(name="simulations", title=script_tables.SIMULATIONS_TITLE, blocks=[table])


SERVER_NOTE = (
    "server times: means in ms, of answers whose server said what it took; server %: its share of the "
    "latency, the rest is network and client, and tools where some were called."
)


def _server_times(found: Sequence[GroupServerTimes]) -> Iterator[ReportSection]:
    for number, one in enumerate(found):
        said = [] if number else [SERVER_NOTE]
        if dropped := one.rows[-1].dropped:
            left_out = count_text(dropped, "server time", ("is", "are"))
            said.append(
                f"{one.group}: {left_out} left out: no number, below 0, or longer than the whole ask."
            )
        table = Table(columns=lambda layout, one=one: run_tables.server_columns(one), total=True)  # type: ignore[misc]
        title = (*group_title(one.group), ": server times")
        yield ReportSection(name="server times", title=title, blocks=[table], remarks=said)


def _repeats(repeats: RepeatNumbers) -> Iterator[ReportSection]:
    for group in dict.fromkeys(row.group for row in repeats.spread):
        for what, columns in (
            ("pass^k", run_tables.pass_columns),
            ("spread between plays", run_tables.repeat_spread_columns),
        ):
            table = Table(columns=lambda layout, of=columns, group=group: of(repeats, group, layout))  # type: ignore[misc]
            if table.columns(LAYOUTS[0]):
                title = (*group_title(group), f": {what}")
                yield ReportSection(name="plays", title=title, blocks=[table], folded=True)


def _people(people: HumanScores) -> Iterator[ReportSection]:
    raters = count_text(people.raters, "rater")
    yield ReportSection(name="people", title=("People: ", raters, ', study "', Name(people.study), '"'))
    for table in people.all_tables:
        yield study_section(table)


def study_section(table: HumanTable) -> ReportSection:
    """Return *table* of a study with what is to be said of it."""
    blocks: list[Block] = [PlainLines(["nothing yet"])]
    if table.rows:
        rows = table.rows[:MOST_STUDY_ROWS]
        columns = Table(
            columns=lambda layout: list(run_tables.study_columns(table, rows)),
            named=run_tables.names_in(table),
        )
        more = len(table.rows) - MOST_STUDY_ROWS
        rest = (
            [PlainLines([f"{count_text(more, 'more row')}; --json and --html have them"])] if more > 0 else []
        )
        blocks = [columns, *rest]
    cells = (cell for row in table.rows for cell in row)
    missing = dict.fromkeys(
        f"no number: {cell.note}."
        for cell in cells
        if isinstance(cell, HumanNumber) and cell.note and cell.value is None
    )
    said = [one for one in (table.caption, *missing) if one]
    return ReportSection(
        name="people", title=table.title, blocks=[*blocks, *([ItemList(said)] if said else [])]
    )


def failures_sections(failures: Sequence[FailureReason]) -> list[ReportSection]:
    """Return why turns failed, each reason in full, if any did."""
    lines = failure_lines(failures)
    return [ReportSection(name="failures", title="Failures", blocks=[ItemList(lines)])] if lines else []


def signatures_section(signatures: Mapping[str, str]) -> ReportSection:
    """Return the *signatures* by what each is of."""
    return ReportSection(name="signatures", title="Signatures", blocks=[Pairs(signatures)], folded=True)


def spread_document(
    names: Sequence[str], rows: Sequence[SpreadRow], same: Sequence[SameAnswers], notes: Sequence[str]
) -> ReportDocument:
    """Return how far the runs called *names* lie apart."""
    each = [f"run {number}" for number in range(1, len(names) + 1)]
    tables = [
        ReportSection(
            name="spread",
            title=group_title(group),
            blocks=[
                Table(
                    columns=lambda layout, group=group: run_tables.spread_columns(  # type: ignore[misc]
                        [row for row in rows if row.group == group], each, layout
                    )
                )
            ],
        )
        for group in dict.fromkeys(row.group for row in rows)
    ]
    said = [
        f"{one.group}: {one.same:,} of {count_text(one.turns, 'turn')} ({100 * one.same / one.turns:.1f} %) "
        "were answered alike in every run."
        for one in same
        if one.turns
    ]
    legend = "sd: standard deviation between the runs (n - 1)."
    listed = [f"run {number}: {name}" for number, name in enumerate(names, 1)]
    return ReportDocument(
        title=f"Spread between {len(names)} runs",
        sections=[*tables, notes_section([*said, *notes, legend, *listed])],
    )
