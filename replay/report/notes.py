"""What a reader of a depth table should know beside its numbers, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from replay.core.check_result import NO_CHECK
from replay.report.interventions_text import intervention_notes
from replay.report.repeats_text import repeat_notes
from replay.report.survival_text import NOTE
from replay.statistics.depth_table import DepthTable, GroupTable
from replay.statistics.interval import FEW, NO_RESAMPLES
from replay.statistics.run_numbers import Report

FEW_CONVERSATIONS = 5
"""Below this many conversations a depth's numbers say little."""
LAG_SHARE = 0.1
"""Of the median latency; a loop that lags by more disturbs the latencies it measures."""


def notes(report: Report) -> list[str]:
    """Plain sentences, each after the groups it is about; a group without anything to say has none."""
    table = report.table
    facts: list[Callable[[GroupTable], Iterable[str]]] = [
        _failures,
        _skipped,
        _not_found,
        _rewrite_failed,
        _not_judged,
        _shortened,
        _unreached,
        _unscored,
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
    said += [NOTE] if report.survival else []
    said += intervention_notes(report.interventions)
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
        yield f"{_turns(group.total.failed)} failed ({_listed(group.total.failures)})."


def _skipped(group: GroupTable) -> Iterable[str]:
    if group.total.skipped:
        yield f"{_turns(group.total.skipped)} filtered out: the question was invalid and was not asked."


def _not_found(group: GroupTable) -> Iterable[str]:
    if count := group.total.not_found:
        asked = "question was" if count == 1 else "questions were"
        yield f"{count} invalid {asked} asked as recorded: the data has no standalone form."


def _rewrite_failed(group: GroupTable) -> Iterable[str]:
    if count := group.total.rewrite_failed:
        asked = "question was" if count == 1 else "questions were"
        yield f"{count} {asked} asked as recorded: the rewriting failed (edit_note in the turns says why)."


def _not_judged(group: GroupTable) -> Iterable[str]:
    if count := group.total.not_judged:
        reasons = {why.removeprefix("the question is "): n for why, n in group.total.unjudged.items()}
        yield f"{count:,} question{'' if count == 1 else 's'} not judged: {_listed(reasons)}."


def _shortened(group: GroupTable) -> Iterable[str]:
    if count := group.total.shortened:
        questions = f"{count:,} question{'' if count == 1 else 's'}"
        yield f"{questions} judged after texts too long to be read whole; beginnings and ends were read."


def _unreached(group: GroupTable) -> Iterable[str]:
    if group.total.unreached:
        yield f"{_turns(group.total.unreached)} never asked: the conversation or the run stopped before."


def _unscored(group: GroupTable) -> Iterable[str]:
    by_reasons: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for name, score in group.total.scores.items():
        # That most turns have no check is nothing to know before believing a number.
        unscored = tuple(one for one in score.unscored.items() if one[0] != NO_CHECK)
        by_reasons.setdefault(unscored, []).append(name)
    for reasons, names in by_reasons.items():
        if reasons:
            count = sum(times for _, times in reasons)
            yield f"{_turns(count)} without {', '.join(names)} ({_listed(dict(reasons))})."


def _without_interval(group: GroupTable) -> Iterable[str]:
    """Intervals that don't exist for another reason than too few conversations or no resamples at all."""
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


def _turns(count: int) -> str:
    return f"{count:,} turn{'' if count == 1 else 's'}"


def _listed(counts: Mapping[str, int]) -> str:
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
