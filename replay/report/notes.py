"""
What to know beside a run's numbers, in words: what they come to, leave out and may be doubted for.

A column of a kind of checks that all passed is no news: texts for people leave it out and say so, files for
programs have it. A data set may have checks of a dozen kinds, and a dozen columns of 100 per cent hide the
one of 97.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from replay.core.expectation import ALL_CHECKS, NO_CHECK
from replay.report.numbers import count_text
from replay.report.run_tables import names_of
from replay.report.script_tables import SURVIVAL_NOTE, intervention_notes, simulation_notes
from replay.statistics.depth_table import FEW_CONVERSATIONS, DepthTable, GroupTable
from replay.statistics.interval import FEW, NO_RESAMPLES
from replay.statistics.paired import DifferenceRow, HiddenPoints
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.run_numbers import Report, WordingAgreement

HAVE, WAS = ("has", "have"), ("was", "were")
LAG_SHARE = 0.1
"""Of the median latency; a loop that lags by more disturbs the latencies it measures."""
_WHOSE = {"rewrite": "rewriting", "replace": "people's wording"}
CHANCE = " (could be chance)"
_LEFT = (
    "What is not given back is wrong answers in the history, or drift that the new words missed or spoiled."
)


def notes(report: Report) -> list[str]:
    """Return plain sentences, each after the groups it is about; a group without anything to say has none."""
    table = report.table
    facts: list[Callable[[GroupTable], Iterable[str]]] = [
        _failures,
        _skipped_turns,
        _not_found,
        _rewrite_failed,
        _not_judged,
        _shortened_questions,
        _unreached_turns,
        _unscored_turns,
        _without_interval,
        _few_conversations,
    ]
    said: list[str] = []
    for fact in facts:
        who: dict[str, list[GroupTable]] = {}
        for group in table.groups:
            for sentence in fact(group):
                who.setdefault(sentence, []).append(group)
        said += [f"{_names(groups, table)}: {sentence}" for sentence, groups in who.items()]
    said += [SURVIVAL_NOTE] if report.survival else []
    said += intervention_notes(report.interventions)
    said += simulation_notes(report.simulations)
    said += repeat_notes(report.repeats) if report.repeats else []
    said += report.remarks
    return said + list(_loop_lag(table, report.loop_lag_s))


def _names(groups: list[GroupTable], table: DepthTable) -> str:
    if len(groups) == len(table.groups) > 1:
        return "all"
    one_system = len({group.group.system for group in table.groups}) == 1
    return "; ".join(group.group.policy if one_system else str(group.group) for group in groups)


def _failures(group: GroupTable) -> Iterable[str]:
    if group.total.failed:
        yield f"{count_text(group.total.failed, 'turn')} failed ({_list_reasons(group.total.failures)})."


def _skipped_turns(group: GroupTable) -> Iterable[str]:
    if group.total.skipped:
        turns = count_text(group.total.skipped, "turn")
        yield f"{turns} filtered out: the question was invalid and was not asked."


def _not_found(group: GroupTable) -> Iterable[str]:
    if count := group.total.not_found:
        asked = count_text(count, "invalid question", WAS)
        yield f"{asked} asked as recorded: the data has no standalone form."


def _rewrite_failed(group: GroupTable) -> Iterable[str]:
    if count := group.total.rewrite_failed:
        asked = count_text(count, "question", WAS)
        yield f"{asked} asked as recorded: the rewriting failed (edit_note in the turns says why)."


def _not_judged(group: GroupTable) -> Iterable[str]:
    if count := group.total.not_judged:
        reasons = {why.removeprefix("the question is "): n for why, n in group.total.unjudged.items()}
        yield f"{count_text(count, 'question')} not judged: {_list_reasons(reasons)}."


def _shortened_questions(group: GroupTable) -> Iterable[str]:
    if count := group.total.shortened:
        questions = count_text(count, "question")
        yield f"{questions} judged after texts too long to be read whole; beginnings and ends were read."


def _unreached_turns(group: GroupTable) -> Iterable[str]:
    if group.total.unreached:
        turns = count_text(group.total.unreached, "turn")
        yield f"{turns} never asked: the conversation or the run stopped before."


def _unscored_turns(group: GroupTable) -> Iterable[str]:
    by_reasons: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for name, score in group.total.scores.items():
        # That most turns have no check is nothing to know before believing a number.
        unscored = tuple(one for one in score.unscored.items() if one[0] != NO_CHECK)
        by_reasons.setdefault(unscored, []).append(name)
    for reasons, names in by_reasons.items():
        if reasons:
            count = sum(times for _, times in reasons)
            yield f"{count_text(count, 'turn')} without {', '.join(names)} ({_list_reasons(dict(reasons))})."


def _without_interval(group: GroupTable) -> Iterable[str]:
    """
    Yield intervals that don't exist for another reason than too few conversations or no resamples at all.
    """
    places: dict[tuple[str, str], list[int | None]] = {}
    for row in group.rows:
        for name, score in row.scores.items():
            reason = score.no_interval
            if score.value is not None and reason and reason not in (FEW.reason, NO_RESAMPLES.reason):
                places.setdefault((name, reason), []).append(row.depth)
    names: dict[tuple[str, tuple[int | None, ...]], list[str]] = {}
    for (name, reason), depths in places.items():
        names.setdefault((reason, tuple(depths)), []).append(name)
    for (reason, all_depths), scores in names.items():
        single = [depth for depth in all_depths if depth is not None]
        where = [f"depth{'s' if len(single) > 1 else ''} {_ranges(single)}"] if single else []
        where += ["all depths together"] if None in all_depths else []
        yield f"no interval for {', '.join(scores)} at {' and '.join(where)}: {reason}."


def _few_conversations(group: GroupTable) -> Iterable[str]:
    few = [row for row in group.depths if 0 < row.conversations < FEW_CONVERSATIONS]
    depths = [row.depth for row in few if row.depth is not None]
    if depths:
        where = f"depth {depths[0]}" if len(depths) == 1 else f"depths {_ranges(depths)}"
        yield f"fewer than {FEW_CONVERSATIONS} conversations at {where}; read little into them."


def _loop_lag(table: DepthTable, lags_s: Mapping[str, float]) -> Iterator[str]:
    for system, lag_s in lags_s.items():
        medians = [(one, one.total.latency_p50_s) for one in table.groups if one.group.system == system]
        slower = [(group, m) for group, m in medians if m is not None and lag_s > LAG_SHARE * m]
        if slower:
            where = ", ".join(f"{_names([group], table)} {_milliseconds(median)}" for group, median in slower)
            yield (
                f"the event loop lagged by {_milliseconds(lag_s)} while it asked (p99), more than "
                f"{LAG_SHARE:.0%} of the median latency ({where}); latencies may be too high by as much."
            )


def _milliseconds(duration_s: float) -> str:
    return f"{1000 * duration_s:.3g} ms"


def _list_reasons(counts: Mapping[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{times:,} {what}" for what, times in Counter(counts).most_common())


def _ranges(depths: list[int]) -> str:
    """``1, 4 to 6`` for 1, 4, 5, 6."""
    runs: list[list[int]] = []
    for depth in depths:
        if runs and runs[-1][-1] == depth - 1:
            runs[-1].append(depth)
        else:
            runs.append([depth])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def repeat_notes(repeats: RepeatNumbers) -> list[str]:
    """Return sentences on how to read the tables of repeats."""
    said = [
        f"each conversation was played {repeats.times} times. pass^k: all of k plays of a turn pass, or of a "
        "whole conversation, which passes where all its turns do; pass@k: at least one of them. Both in per "
        "cent, by the unbiased estimates.",
        "intervals speak of other conversations; sd, the standard deviation between plays (n - 1), of other "
        "answers to the same ones.",
    ]
    missing = max((curve.incomplete for curve in repeats.curves), default=0)
    if missing:
        said.append(
            "incomplete: cases with a play that has no score, as where an ask failed; such a play counts "
            "neither as passed nor as missed, and a case counts up to the k that it has plays for."
        )
    for one in repeats.same:
        of = f"{one.same:,} of {count_text(one.turns, 'turn')} ({100 * one.same / one.turns:.1f} %)"
        said.append(f"{one.group}: {of} were answered alike in every play.")
    if repeats.seeds:
        said.append(f"seeds sent: {names_of(repeats.seeds).replace('/', ', ')}.")
    return said


def conclusions(report: Report) -> list[str]:
    """
    Return what a run comes to, in a sentence for each system.

    That is what recorded answers hide, or where the run can't tell that, how often drift was detected.
    """
    if report.hidden:
        return hidden_sentences(report.hidden)
    judged = [one for one in report.table.groups if one.total.drift_checked]
    systems = [list(groups) for _, groups in groupby(judged, lambda one: one.group.system)]
    return [
        (f"{groups[0].group.system}: " if len(systems) > 1 else "") + _drift_sentence(groups)
        for groups in systems
    ]


def _drift_sentence(groups: Sequence[GroupTable]) -> str:
    shares = [
        f"{one.total.invalid:,} of {one.total.drift_checked:,} questions under {one.group.policy} "
        f"({100 * one.total.invalid / one.total.drift_checked:.1f} %)"
        for one in groups
    ]
    return (
        f"Drift was detected in {' and in '.join(shares)}: after the system's own answers they no longer "
        "mean the same."
    )


def hidden_sentences(hidden: Sequence[HiddenPoints]) -> list[str]:
    """
    Return a sentence for each system, which is named where there are several.

    "Could be chance" stands behind whatever has an interval that includes 0, or none. Where nothing is
    hidden, there is nothing to give back.
    """
    return [
        (f"{one.gap.second.system}: " if len(hidden) > 1 else "") + _hidden_sentence(one) for one in hidden
    ]


def _hidden_sentence(one: HiddenPoints) -> str:
    gap, score = one.gap.total, one.gap.score
    points, start = _points(gap), "Testing with recorded answers hides"
    if points == "0.0":
        return f"{start} nothing here: {score} is the same with the system's own."
    if not points.startswith("-"):
        return f"{start} nothing here: {score} is {points} points higher with the system's own{_chance(gap)}."
    given = [f"{_WHOSE[policy]} {_recovery_text(back.total)}" for policy, back in one.given_back.items()]
    then = f"; {' and '.join(given)}. {_LEFT}" if given else "."
    return f"{start} {points[1:]} points of {score}{_chance(gap)}{then}"


def _recovery_text(gap: DifferenceRow) -> str:
    points = _points(gap)
    if points == "0.0":
        return "gives back nothing here"
    if points.startswith("-"):
        return f"gives back nothing here but costs {points[1:]} more{_chance(gap)}"
    return f"gives back {points}{_chance(gap)}"


def _points(gap: DifferenceRow) -> str:
    points = f"{100 * (gap.value or 0.0):.1f}"
    return "0.0" if points == "-0.0" else points


def _chance(gap: DifferenceRow) -> str:
    certain = gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
    return "" if certain else CHANCE


def wording_sentences(agreements: Sequence[WordingAgreement]) -> list[str]:
    """Return a sentence for each group: how often its wording agrees with the data's."""

    def they(count: int, one: str, several: str) -> str:
        return f"{count:,} {one if count == 1 else several}"

    return [
        f"{one.group}: {count_text(one.questions, 'rewritten question', HAVE)} a standalone form in the "
        f"data. {they(one.equal, 'equals', 'equal')} it word for word, "
        f"{they(one.same_things, 'names the same things (has', 'name the same things (have')} the same "
        f"content words), {they(one.nothing_else, 'names', 'name')} nothing that it doesn't."
        for one in agreements
    ]


def without_passed_checks(report: Report) -> Report:
    """
    Return *report* without the columns of single kinds of checks that passed everywhere, and a remark on
    them.
    """
    columns = report.table.columns
    passed = [
        name
        for name in columns
        if name.startswith(f"{ALL_CHECKS}.")
        and all(group.total.scores[name].value in (1.0, None) for group in report.table.groups)
    ]
    if not passed:
        return report
    remark = f"all passed wherever they were looked at, so in no column here: {', '.join(passed)}."
    repeats = report.repeats and replace(
        report.repeats,
        curves=tuple(curve for curve in report.repeats.curves if curve.score not in passed),
        spread=tuple(row for row in report.repeats.spread if row.score not in passed),
    )
    return replace(
        report,
        repeats=repeats,
        table=replace(report.table, columns={n: c for n, c in columns.items() if n not in passed}),
        gaps=tuple(gap for gap in report.gaps if gap.score not in passed),
        remarks=(*report.remarks, remark),
    )
