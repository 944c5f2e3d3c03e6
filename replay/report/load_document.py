"""
A load run's report: levels, durations, scores, depths, the course over time, errors, and what to know before
believing it; first where the system's limit is, by the objectives of a sweep and by its throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from replay.core.load_record import ObjectiveResult
from replay.report import load_tables
from replay.report.document import ItemList, Paragraph, ReportDocument, ReportSection, Table, notes_section
from replay.report.numbers import count_text
from replay.report.printing import NONE, Layout, TextColumn
from replay.report.run_document import failures_sections
from replay.report.run_tables import percent
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.load.load_cell import asks_needed
from replay.statistics.load.load_findings import (
    FEWEST_TURNS,
    LevelComparison,
    Saturation,
    few_answers,
    worst_generator,
)
from replay.statistics.load.load_level import LevelSummary
from replay.statistics.load.load_summary import DriftShare, Knee, LoadSummary
from replay.statistics.run_numbers import FailureReason

MOST_NOTES = 4
"""Of a kind, in one screen."""
NOTES = "Notes on the load"
_MET = {True: "met", False: "missed", None: "not known"}


def load_document(
    summary: LoadSummary, *, failures: Sequence[FailureReason] = (), full: bool = False, bars: bool = False
) -> ReportDocument:
    """
    Return one screen of *summary* and why turns failed, or with *full* every table.

    With *bars* the course over time is drawn.
    """
    levels = summary.levels
    if not levels:
        nothing = "No level of load has been played to its end, so there is nothing to report yet."
        return ReportDocument(
            title="Load", sections=[ReportSection(name="nothing", blocks=[Paragraph([nothing])])]
        )
    title = _title(summary)
    shown = _section(
        title,
        (lambda _: load_tables.level_columns(levels))
        if full
        else (lambda one: load_tables.brief_columns(summary, one)),
    )
    limits = limit_sentences(summary)
    sections = [shown, *([ReportSection(name="limits", blocks=[Paragraph(limits)])] if limits else [])]
    if full:
        sections += _every_table(summary, bars)
    elif summary.score_units and any(len(level.groups) > 1 for level in levels):
        sections.append(_scores(summary))
    sections += failures_sections(failures)
    sections += [*_goals(levels), _notes(summary)] if full else [_brief_notes(summary)]
    return ReportDocument(title=title, sections=sections)


def _section(
    title: str, columns: Callable[[Layout], Sequence[TextColumn]], *, name: str = "load"
) -> ReportSection:
    return ReportSection(name=name, title=title, blocks=[Table(columns=columns, total=name == "depth table")])


def _every_table(summary: LoadSummary, bars: bool) -> Iterator[ReportSection]:
    levels, series = summary.levels, summary.series
    if any(level.total.answered_turns for level in levels):
        yield _section("Durations of answers", lambda _: load_tables.duration_columns(levels))
    if summary.score_units and any(level.groups for level in levels):
        yield _scores(summary)
    several = len({group.group for level in levels for group in level.groups}) > 1
    for level in levels:
        for group in level.groups:
            title = f"By depth at {level.played.name}" + (f": {group.group}" if several else "")
            columns = lambda layout, of=group: load_tables.depth_columns(of, summary, layout)  # noqa: E731
            yield _section(title, columns, name="depth table")
    if series:
        title = f"Over time, in steps of {load_tables.number(series.bucket_s)} s"
        yield _section(title, lambda _: load_tables.series_columns(series, bars=bars))
    if any(level.played.generators for level in levels):
        yield _section("Who offered the load", lambda _: load_tables.generator_columns(levels))
    if any(level.errors for level in levels):
        yield _section("Errors", lambda _: load_tables.error_columns(levels))


def _scores(summary: LoadSummary) -> ReportSection:
    return _section("Scores", lambda layout: load_tables.score_columns(summary, layout), name="scores")


def _title(summary: LoadSummary) -> str:
    profile = summary.load.get("profile")
    ended = max(level.played.ended_s for level in summary.levels)
    what = f"{count_text(len(summary.levels), 'level')}, {count_text(summary.turns, 'turn')}"
    return f"Load{f', {profile}' if profile else ''}: {what} in {load_tables.number(ended)} s"


def _brief_notes(summary: LoadSummary) -> ReportSection:
    """Only what casts doubt on the numbers, and which objectives were missed."""
    levels = summary.levels
    who: dict[str, list[str]] = {}
    for level in levels:
        few = few_answers(level.total.answered_turns)
        for warning in level.warnings:
            if warning != few:
                who.setdefault(warning, []).append(level.played.name)
    said = [
        f"{', '.join(names)}: {warning}" if len(levels) > 1 else warning for warning, names in who.items()
    ]
    if len(said) > MOST_NOTES:
        said[MOST_NOTES:] = [f"and {len(said) - MOST_NOTES} more of this kind, in the full report."]
    said += _few_answers(levels)
    if worst := worst_generator(levels):
        said.append(worst)
    ttft = "; TTFT from when it was sent" if any(level.total.ttft for level in levels) else ""
    said.append(f"durations in ms, from when a turn was due to its last byte{ttft}.")
    said += _server_note(levels)
    return notes_section([*_missed_goals(levels), *said], title=NOTES)


def _missed_goals(levels: Sequence[LevelSummary]) -> list[str]:
    found = [(level, [goal for goal in level.played.goals if goal.met is False]) for level in levels]
    return [
        f"{level.played.name} missed {'; '.join(f'{goal.goal} ({_value(goal)})' for goal in goals)}."
        for level, goals in found
        if goals
    ]


def _few_answers(levels: Sequence[LevelSummary]) -> list[str]:
    """Return one sentence for all levels whose 99th percentile says little."""
    few = [level for level in levels if few_answers(level.total.answered_turns)]
    if not few:
        return []
    who = ", ".join(f"{level.played.name} ({level.total.answered_turns:,})" for level in few)
    return [
        f"p99 means something from {asks_needed(0.99):,} answers on, p95 from {asks_needed(0.95):,}; fewer "
        f"have {who}."
    ]


def _goals(levels: Sequence[LevelSummary]) -> list[ReportSection]:
    items = [
        f"{level.played.name}: "
        + "; ".join(f"{goal.goal}: {_MET[goal.met]} ({_value(goal)})" for goal in level.played.goals)
        for level in levels
        if level.played.goals
    ]
    return [ReportSection(name="goals", title="Goals", blocks=[ItemList(items)])] if items else []


def _value(goal: ObjectiveResult) -> str:
    if goal.value is None:
        return "nothing measured"
    if goal.key == "errors":
        return f"{load_tables.number(100 * goal.value)} %"
    return (
        f"{load_tables.number(goal.value)} s" if goal.key.endswith("_s") else load_tables.number(goal.value)
    )


def _notes(summary: LoadSummary) -> ReportSection:
    several = len(summary.levels) > 1
    said = [
        f"{level.played.name}: {warning}" if several else warning
        for level in summary.levels
        for warning in level.warnings
    ]
    said.append(
        "durations in ms, of answers to turns due in the measured window; latency counts from sent, "
        "response from due, so that it tells of waiting that a stalled system causes before an ask is sent."
    )
    said += _server_note(summary.levels)
    said.append(
        "due/s: turns that users wanted to ask; done/s: answers complete within the window; late p99: ms "
        "that the generator itself was late."
    )
    if warm_up := sum(level.warm_up_turns for level in summary.levels):
        verb = "is" if warm_up == 1 else "are"
        said.append(f"{count_text(warm_up, 'turn')} due in a warm-up, or after a window, {verb} left out.")
    if cut := sum(level.played.cut or 0 for level in summary.levels):
        ended = "conversation ended because its" if cut == 1 else "conversations ended because their"
        said.append(f"{cut:,} {ended} level was over.")
    for source in dict.fromkeys(level.tokens_from for level in summary.levels):
        if source and source != "usage":
            said.append(f"tokens are counted from {source}, since the system doesn't say how many.")
    if good := summary.levels[0].goodput:
        limits = ", ".join(f"{name} at most {load_tables.number(s)} s" for name, s in good.limits_s.items())
        said.append(f"good: asks answered with {limits}.")
    if summary.outside:
        turns = count_text(summary.outside, "turn", ("belongs", "belong"))
        said.append(f"{turns} to no level: the run ended before it was over.")
    if summary.skipped:
        said.append(
            f"{count_text(summary.skipped, 'turn')} filtered out: the question was invalid and was not asked."
        )
    said += drift_sentences(summary)
    if summary.score_units:
        interval = f"{METHOD_NAMES['t']} over the data's conversations, {summary.resamples:,} resamples"
        said.append(
            f"scores of unit share in per cent; in brackets: 95 % interval, {interval}; drop: less than at "
            "the lowest level, on conversations resampled alike."
        )
    return notes_section(said, title=NOTES)


def _server_note(levels: Sequence[LevelSummary]) -> list[str]:
    if all(level.total.server_share is None for level in levels):
        return []
    return ["server %: what of the latency the server says was its own; the rest is network and client."]


def drift_sentences(summary: LoadSummary) -> list[str]:
    """
    Return the share of drifted questions of each system and policy, with how many turns it was read from.
    """
    several = len({share.system for share in summary.drift}) > 1
    return [_drift_sentence(share, f"{share.system}, " if several else "") for share in summary.drift]


def _drift_sentence(share: DriftShare, whose: str) -> str:
    found = share.invalid
    invalid = NONE if found.value is None else f"{100 * found.value:.1f} %"
    if found.low is not None and found.high is not None:
        invalid += f" [{100 * found.low:.1f}, {100 * found.high:.1f}]"
    sample = "all" if share.sample == share.turns else f"{share.sample:,} drawn of"
    turns = f"{sample} {count_text(share.turns, 'turn')}"
    return f"{whose}{share.policy}: {invalid} of the questions no longer mean the same, by {turns}."


def limit_sentences(summary: LoadSummary) -> list[str]:
    """Return sentences on the system's limit, by objectives and throughput; empty if none is known."""
    said = []
    if summary.knee is not None:
        said.append(_knee(summary.knee))
    if summary.saturation is not None:
        said.append(saturation_sentence(summary.saturation))
    return said


def _knee(knee: Knee) -> str:
    if knee.level is None:
        return f"Not even {knee.missed} met the goals; the system's limit is below what was offered."
    if knee.missed is None:
        return (
            f"{knee.level} met the goals and nothing higher was offered: the system's limit may be beyond it."
        )
    return f"The highest level that met the goals is {knee.level}; {knee.missed} missed them."


def saturation_sentence(said: Saturation) -> str:
    """Return a sentence on whether throughput and response times show saturation."""
    at, beyond = said.at, said.beyond
    if said.found == "growing":
        return f"Not saturated up to {at.level}: throughput still grew."
    if beyond is None:
        return (
            f"Throughput hardly grew beyond {at.level}; a level with at least half as much load again would "
            "show whether that is the limit."
        )
    if said.found == "few-turns":
        return (
            f"Throughput hardly grew beyond {at.level}, but {at.level} or {beyond.level} has fewer than "
            f"{FEWEST_TURNS} turns, too few to tell; measure for longer."
        )
    if said.found == "not-the-system":
        return (
            f"Throughput stopped growing at {at.level}, but {beyond.level} brought neither slower answers "
            "nor more failures, or the generator was late: so it may be the generator, think times or a "
            "limit in the scenario that held the load back, and not the system."
        )
    where = f"{at.level}, the lowest level, or below it" if said.is_lowest else at.level
    return f"Saturated at {where}: {load_tables.number(at.throughput)} answers/s. {_further(at, beyond)}"


def _further(at: LevelComparison, beyond: LevelComparison) -> str:
    facts = [
        f"{load_tables.number(beyond.throughput)} ({100 * (beyond.throughput / at.throughput - 1):+.0f} %)",
        f"a median response of {load_tables.milliseconds(beyond.response_p50_s)} instead of "
        f"{load_tables.milliseconds(at.response_p50_s)} ms",
    ]
    if beyond.error_share > at.error_share:
        facts.append(f"{percent(beyond.error_share)} instead of {percent(at.error_share)} % failures")
    brought = f"{', '.join(facts[:-1])} and {facts[-1]}"
    return f"{beyond.level}, {beyond.value / at.value:.2g} times the load, brought {brought}."
