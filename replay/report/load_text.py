"""
A load report as text: levels, durations, scores, depths, the course over time, errors, and what to know
before believing it.

Terminals get sparklines; everything else gets ASCII, as far as it is ours.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console

from replay.report.columns import NONE, TextColumn, column, fitting
from replay.report.load_limit import limit_sentences
from replay.report.load_tables import (
    brief_columns,
    depth_columns,
    duration_columns,
    error_columns,
    generator_columns,
    level_columns,
    number,
    score_columns,
    series_columns,
)
from replay.report.printing import heading, print_lines, print_table, section
from replay.report.terminal import has_person
from replay.report.text import print_failures
from replay.statistics.failure_reasons import FailureReason
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.load.drift_share import DriftShare
from replay.statistics.load.load_level import LevelSummary, ObjectiveResult
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.load.load_warnings import few_answers, worst_generator
from replay.statistics.load.percentiles import asks_needed

MOST_NOTES = 4
"""Of a kind, in one screen."""
_MET = {True: "met", False: "missed", None: "not known"}


def print_load(
    summary: LoadSummary, console: Console, *, failures: Sequence[FailureReason] = (), full: bool = False
) -> None:
    """
    Print *summary*, and why turns failed, as compactly as the console's width asks for.

    One screen of it, or with *full* every table.
    """
    levels = summary.levels
    if not levels:
        console.print("No level of load has been played to its end, so there is nothing to report yet.")
        return
    if full:
        _table(console, _title(summary), level_columns(levels))
    else:
        layout = fitting(console.width, lambda layout: [brief_columns(summary, layout)])
        _table(console, _title(summary), brief_columns(summary, layout))
    limits = limit_sentences(summary)
    for said in limits:
        print_lines(console, textwrap.wrap(said, console.width))
    if limits:
        console.print()
    if full:
        _every_table(summary, console)
    elif summary.score_units and any(len(level.groups) > 1 for level in levels):
        _scores(summary, console)
    print_failures(failures, console)
    if full:
        _goals(levels, console)
        _notes(summary, console)
    else:
        _brief_notes(summary, console)


def _every_table(summary: LoadSummary, console: Console) -> None:
    levels = summary.levels
    if any(level.total.answered for level in levels):
        _table(console, "Durations of answers", duration_columns(levels))
    if summary.score_units and any(level.groups for level in levels):
        _scores(summary, console)
    _depths(summary, console)
    if summary.series:
        title = f"Over time, in steps of {number(summary.series.bucket_s)} s"
        _table(console, title, series_columns(summary.series, bars=has_person(console)))
    if any(level.played.generators for level in levels):
        _table(console, "Who offered the load", generator_columns(levels))
    if any(level.errors for level in levels):
        _table(console, "Errors", error_columns(levels))


def _scores(summary: LoadSummary, console: Console) -> None:
    layout = fitting(console.width, lambda layout: [score_columns(summary, layout)])
    _table(console, "Scores", score_columns(summary, layout))


def _table(console: Console, title: str, columns: Sequence[TextColumn], below: Sequence[str] = ("",)) -> None:
    heading(console, title)
    print_table(console, columns, below=below)


def _title(summary: LoadSummary) -> str:
    profile = summary.load.get("profile")
    ended = max(level.played.ended_s for level in summary.levels)
    count = len(summary.levels)
    levels = "1 level" if count == 1 else f"{count} levels"
    return f"Load{f', {profile}' if profile else ''}: {levels}, {summary.turns:,} turns in {number(ended)} s"


def _brief_notes(summary: LoadSummary, console: Console) -> None:
    """Only what casts doubt on the numbers, and which objectives were missed."""
    levels = summary.levels
    who: dict[str, list[str]] = {}
    for level in levels:
        few = few_answers(level.total.answered)
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
    section(console, "Notes on the load", [*_missed_goals(levels), *said])
    console.print()


def _missed_goals(levels: Sequence[LevelSummary]) -> list[str]:
    found = [(level, [goal for goal in level.played.goals if goal.met is False]) for level in levels]
    return [
        f"{level.played.name} missed {'; '.join(f'{goal.goal} ({_value(goal)})' for goal in goals)}."
        for level, goals in found
        if goals
    ]


def _few_answers(levels: Sequence[LevelSummary]) -> list[str]:
    """One sentence for all levels whose 99th percentile says little."""
    few = [level for level in levels if few_answers(level.total.answered)]
    if not few:
        return []
    who = ", ".join(f"{level.played.name} ({level.total.answered:,})" for level in few)
    return [
        f"p99 means something from {asks_needed(0.99):,} answers on, p95 from {asks_needed(0.95):,}; fewer "
        f"have {who}."
    ]


def _depths(summary: LoadSummary, console: Console) -> None:
    several = len({group.group for level in summary.levels for group in level.groups}) > 1
    layout = fitting(
        console.width,
        lambda layout: (
            [depth_columns(group, summary, layout) for level in summary.levels for group in level.groups]
            or [[column("", ())]]
        ),
    )
    for level in summary.levels:
        for group in level.groups:
            title = f"By depth at {level.played.name}" + (f": {group.group}" if several else "")
            heading(console, title)
            print_table(console, depth_columns(group, summary, layout), total=True)


def _goals(levels: Sequence[LevelSummary], console: Console) -> None:
    told = [level for level in levels if level.played.goals]
    if not told:
        return
    items = [
        f"{level.played.name}: "
        + "; ".join(f"{goal.goal}: {_MET[goal.met]} ({_value(goal)})" for goal in level.played.goals)
        for level in told
    ]
    section(console, "Goals", items)
    console.print()


def _value(goal: ObjectiveResult) -> str:
    if goal.value is None:
        return "nothing measured"
    if goal.key == "errors":
        return f"{number(100 * goal.value)} %"
    return f"{number(goal.value)} s" if goal.key.endswith("_s") else number(goal.value)


def _notes(summary: LoadSummary, console: Console) -> None:
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
    said.append(
        "due/s: turns that users wanted to ask; done/s: answers complete within the window; late p99: ms "
        "that the generator itself was late."
    )
    if warm_up := sum(level.warm_up_turns for level in summary.levels):
        said.append(f"{warm_up:,} turns due in a warm-up, or after a window, are left out.")
    if cut := sum(level.played.cut or 0 for level in summary.levels):
        ended = "conversation ended because its" if cut == 1 else "conversations ended because their"
        said.append(f"{cut:,} {ended} level was over.")
    for source in dict.fromkeys(level.tokens_from for level in summary.levels):
        if source and source != "usage":
            said.append(f"tokens are counted from {source}, since the system doesn't say how many.")
    if good := summary.levels[0].goodput:
        limits = ", ".join(f"{name} at most {number(s)} s" for name, s in good.limits_s.items())
        said.append(f"good: asks answered with {limits}.")
    if summary.outside:
        said.append(f"{summary.outside:,} turns belong to no level: the run ended before it was over.")
    if summary.skipped:
        said.append(f"{summary.skipped:,} turns filtered out: the question was invalid and was not asked.")
    said += drift_sentences(summary)
    if summary.score_units:
        interval = f"{METHOD_NAMES['t']} over the data's conversations, {summary.resamples:,} resamples"
        said.append(
            f"scores of unit share in per cent; in brackets: 95 % interval, {interval}; drop: less than at "
            "the lowest level, on conversations resampled alike."
        )
    section(console, "Notes on the load", said)
    console.print()


def drift_sentences(summary: LoadSummary) -> list[str]:
    """The share of drifted questions of each system and policy, with how many turns it was read from."""
    several = len({share.system for share in summary.drift}) > 1
    return [_drift_sentence(share, f"{share.system}, " if several else "") for share in summary.drift]


def _drift_sentence(share: DriftShare, whose: str) -> str:
    found = share.invalid
    invalid = NONE if found.value is None else f"{100 * found.value:.1f} %"
    if found.low is not None and found.high is not None:
        invalid += f" [{100 * found.low:.1f}, {100 * found.high:.1f}]"
    sample = "all" if share.sample == share.turns else f"{share.sample:,} drawn of"
    turns = f"{sample} {share.turns:,} turns"
    return f"{whose}{share.policy}: {invalid} of the questions no longer mean the same, by {turns}."
