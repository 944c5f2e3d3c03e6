"""What tables come to, in sentences: what recorded answers hide, what is given back, what a change did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from replay.statistics.comparison import Comparison
from replay.statistics.depth_table import GroupTable
from replay.statistics.hidden_points import HiddenPoints
from replay.statistics.paired import DifferenceRow
from replay.statistics.run_comparison import ComparedPair
from replay.statistics.run_numbers import Report
from replay.statistics.wording import WordingAgreement

_WHOSE = {"rewrite": "rewriting", "replace": "people's wording"}
CHANCE = " (could be chance)"
CHANCE_BELOW = 0.05
_LEFT = (
    "What is not given back is wrong answers in the history, or drift that the new words missed or spoiled."
)


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


def change_sentence(pair: ComparedPair) -> str:
    """
    Return what the second side of *pair* does better and worse than the first, over all depths.

    A difference counts where Holm's correction leaves less than 5 % to chance.
    """
    better: list[str] = []
    worse: list[str] = []
    for one in pair.comparisons:
        row = one.total
        if row.adjusted_p is None or row.adjusted_p > CHANCE_BELOW or not row.difference.value:
            continue
        (worse if (row.difference.value > 0) == one.lower_is_better else better).append(_change_text(one))
    said = [f"{how} in {', '.join(which)}" for how, which in (("better", better), ("worse", worse)) if which]
    if all(one.total.adjusted_p is None for one in pair.comparisons):
        return "No difference was tested, so that each could be chance."
    if said:
        return f"B is {' and '.join(said)}; any other difference could be chance."
    return "No score is better or worse in B by more than could be chance."


def _change_text(one: Comparison) -> str:
    value = one.total.difference.value or 0.0
    return f"{one.score} ({100 * value:+.1f} points)" if one.percent else f"{one.score} ({value:+.3g})"


def wording_sentences(agreements: Sequence[WordingAgreement]) -> list[str]:
    """Return a sentence for each group: how often its wording agrees with the data's."""
    return [
        f"{one.group}: {one.questions:,} rewritten questions have a standalone form in the data. "
        f"{one.equal:,} equal it word for word, {one.same_things:,} name the same things (have the same "
        f"content words), {one.nothing_else:,} name nothing that it doesn't."
        for one in agreements
    ]
