"""
Pages of differences on the same turns.

*Gold against reality*: what a system's own history costs, and how much of that is drift. *Compare*: two or
more runs, each against the first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from replay.core.errors import InputError
from replay.report.charts import Chart, Switches, switches
from replay.report.compare_document import HOLM_BESIDE_INTERVAL, holm_note
from replay.report.depth_charts import difference_chart, gap_chart
from replay.report.notes import HAVE, hidden_sentences
from replay.report.numbers import count_text, number, p_value
from replay.results.run import Run
from replay.statistics.attribution import BEST_MEND, CONTROL, Attribution, AttributionPart, GapByVerdict
from replay.statistics.checks import ChangedCheck
from replay.statistics.comparison import Comparison, ComparisonSettings, Flip
from replay.statistics.group import pair_groups
from replay.statistics.run_comparison import ComparedPair, ComparisonReport, ScoredRun, comparison_report
from replay.viewer.run_numbers import RunNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class GapView:
    """The page's content."""

    switches: Switches
    hidden: tuple[str, ...]
    """What recorded answers hide, in words."""
    chart: Chart | None
    """None where no system was played under ``gold`` and another policy."""
    attributions: tuple[Attribution, ...]
    missing: tuple[str, ...]
    """Policies that would tell more, as a scenario has them."""
    tests: int
    """How many p-values were adjusted for one another."""
    by_verdict: tuple[GapByVerdict, ...]
    not_judged: int
    """Questions under ``pred`` without a verdict; they stand with the valid ones."""


def gap_view(numbers: RunNumbers) -> GapView:
    """Return the differences and the parts of a run's gap."""
    gaps = numbers.report.gaps
    return GapView(
        switches=switches((gap.score for gap in gaps), [gap.second for gap in gaps]),
        hidden=tuple(hidden_sentences(numbers.report.hidden)),
        chart=gap_chart(gaps) if gaps else None,
        attributions=numbers.gap.rows,
        missing=missing_policies(set(numbers.gap.policies.values())),
        tests=len(numbers.gap.p_values),
        by_verdict=numbers.gap.by_verdict,
        not_judged=sum(
            one.total.not_judged for one in numbers.report.table.groups if one.group.policy == "pred"
        ),
    )


def part_text(part: AttributionPart, unit: str) -> str:
    """Return a part with its interval, as a table shows it."""
    ends = f" [{number(part.low, unit)}, {number(part.high, unit)}]" if part.low is not None else ""
    return f"{number(part.value, unit, signed=True)}{ends}"


def attribution_sentence(one: Attribution) -> str:
    """Return the meaning of the parts of a gap, in words."""
    if not one.edited:
        return "No question was put differently on these turns, so they tell nothing about drift."
    said = _attribution_text(one)
    if one.left_out:
        left, whose = (
            count_text(one.left_out, "more turn", ("is", "are")),
            "its" if one.left_out == 1 else "their",
        )
        said += f" {left} left out: {whose} words were not asked under gold."
    return said


def _attribution_text(one: Attribution) -> str:
    gap = one.parts["gap"]
    if not gap.is_certain:
        return f"The gap itself could be chance ({_p(gap)}): read nothing into its parts."
    if gap.value < 0:
        return "The system does better over its own answers than over gold ones: there is no loss to explain."
    said = [_recovery_text(one)] if "mending" in one.parts else []
    if "drift_at_least" in one.parts:
        said += [_drift(one), _wrong_answers(one)]
    elif one.mended is None:
        said.append(f"The control alone: {_same_words(one)}, where nothing can drift.")
    else:
        said.append(
            "What is left is wrong answers in the history, or drift that it missed or spoiled: only people's "
            "words with their control tell these apart."
        )
    wording = one.parts.get("wording")
    if wording is not None and wording.high is not None and wording.high < 0:
        said.append(
            "Words that cost something by themselves can hide what wrong answers cost: trust no bound."
        )
    return " ".join(said)


def _recovery_text(one: Attribution) -> str:
    """Return in words how much a policy gives back, and how much more people's own wording does."""
    mending = one.parts["mending"]
    if not mending.is_certain:
        said = f"Whether {one.mended} gives anything back can't be told ({_p(mending)})"
    elif mending.value < 0:
        said = f"{one.mended} costs {_amount(mending, one.unit, turned=True)} more"
    else:
        said = f"{one.mended} gives back {_amount(mending, one.unit)}: drift and better wording"
    missed = one.parts.get("missed")
    if missed is not None and missed.is_certain and missed.value > 0:
        said += f"; it missed or spoiled {_amount(missed, one.unit)} that people's words give back"
    return f"{said}."


def _drift(one: Attribution) -> str:
    drift, same = one.parts["drift_at_least"], _same_words(one)
    if not drift.is_certain:
        return f"Drift can't be told from none ({_p(drift)}); {same}, where there is none."
    if drift.value > 0:
        amount = _amount(drift, one.unit)
        return f"At least {amount} of the gap is drift; {same}, and that much more after its own."
    return f"Better words help less after the system's own answers than after gold ones; {same}."


def _wrong_answers(one: Attribution) -> str:
    left = one.parts["wrong_answers_at_most"]
    if not left.is_certain:
        return f"What wrong answers in the history cost can't be told from nothing ({_p(left)})."
    if left.value < 0:
        return "Asked in these words, the system does better over its own answers than over gold ones."
    return (
        f"At most {_amount(left, one.unit)} is wrong answers in the history: drift that the words missed or "
        "spoiled is in it."
    )


def _same_words(one: Attribution) -> str:
    wording = one.parts["wording"]
    verb, turned = ("cost", True) if wording.value < 0 else ("give", False)
    return f"the same words {verb} {_amount(wording, one.unit, turned=turned)} after the gold history"


def verdict_sentence(one: GapByVerdict) -> str:
    """Return in words how much of the gap was lost on drifted questions."""
    gap, drifted = one.parts["gap"], one.parts["on_drifted"]
    share = f"{100 * one.drifted_turns / one.turns:.0f} % of the questions had drifted"
    if not gap.is_certain:
        return f"{share}; the gap itself could be chance ({_p(gap)})."
    if gap.value <= 0:
        return f"{share}; there is no loss to share out."
    if not drifted.is_certain:
        return f"{share}; whether anything was lost on them can't be told ({_p(drifted)})."
    if drifted.value < 0:
        return f"{share}, and the system does better on them than under gold: the gap lies elsewhere."
    return f"{share}, on which {_amount(drifted, one.unit)} of the gap was lost."


def missing_policies(kinds: Collection[str]) -> tuple[str, ...]:
    """Return the policies, in words, that a run needs besides *kinds* for its gap to be taken apart."""
    if not {"gold", "pred"} <= set(kinds):
        return ("gold and pred, whose difference is the gap",)
    return tuple(text for kind, text in _AS_WRITTEN.items() if kind not in kinds)


_AS_WRITTEN = {
    BEST_MEND: "replace: {always: true}, the standalone questions after the system's own answers",
    CONTROL: "gold: {question: standalone}, the same words after the gold history",
}


def _amount(part: AttributionPart, unit: str, *, turned: bool = False) -> str:
    """Return *part* with its unit; *turned* takes a gain for a loss."""
    name = {"share": " points", "s": ""}.get(unit, f" {unit}" if unit else "")
    return f"{number(-part.value if turned else part.value, unit)}{name}"


def _p(part: AttributionPart) -> str:
    if part.adjusted_p is None:
        return "too few conversations to test"
    p = p_value(part.adjusted_p)
    said = f"p {p}" if p.startswith("<") else f"p = {p}"
    leaves_out_0 = part.low is not None and part.high is not None and (part.low > 0 or part.high < 0)
    return f"{said}, {HOLM_BESIDE_INTERVAL}" if leaves_out_0 and not part.is_certain else said


MOST_FLIPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRow:
    """A turn that flipped."""

    flip: Flip
    scores: tuple[tuple[str, bool], ...]
    """Names of the scores that flipped, and whether to right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """Two groups and the turns that flipped between them."""

    pair: ComparedPair
    """Without its flips and checks, which can be very many."""
    checks: Mapping[str, tuple[int, Sequence[ChangedCheck]]]
    """What changed by what is said of it: how many checks, and as many of them as a page takes."""
    checks_summary: str
    won: int
    """Turns all of whose flips were to right."""
    lost: int
    flipped: int
    flips: tuple[FlipRow, ...]
    """Of these as many as a page takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareView:
    """One run against the first."""

    names: tuple[str, str]
    pairs: tuple[PairView, ...] = ()
    chart: Chart | None = None
    switches: Switches | None = None
    notes: tuple[str, ...] = ()
    problem: str | None = None
    """Why the two can't be compared."""


def compare_view(first: ScoredRun, second: ScoredRun) -> CompareView:
    """Return *second* minus *first*, by depth and in all."""
    names = first.name, second.name
    try:
        pairs = pair_groups(first.groups(), second.groups())
        report = comparison_report(first, second, pairs, settings=ComparisonSettings(by_depth=True))
    except InputError as error:
        return CompareView(names=names, problem=str(error))
    groups = list(dict.fromkeys(pair.second for pair in report.pairs))
    scores = list(dict.fromkeys(one.score for pair in report.pairs for one in pair.comparisons))
    return CompareView(
        names=names,
        pairs=tuple(_pair(pair) for pair in report.pairs),
        chart=difference_chart(report) if scores else None,
        switches=switches(scores, groups),
        notes=tuple(_notes(report)),
    )


def comparisons_of(runs: Sequence[tuple[str, Path]]) -> list[CompareView]:
    """Return each of *runs*, by name and folder, against the first."""
    scored = [Run(folder).scored_run(name) for name, folder in runs]
    return [compare_view(scored[0], other) for other in scored[1:]]


def _pair(pair: ComparedPair) -> PairView:
    flips: dict[tuple[str, int], list[tuple[Comparison, Flip]]] = {}
    for one in pair.comparisons:
        for flip in one.flips or ():
            flips.setdefault((flip.conversation, flip.depth), []).append((one, flip))
    rows = [
        FlipRow(flip=found[0][1], scores=tuple((one.score, one.won(flip)) for one, flip in found))
        for _, found in sorted(flips.items())
    ]
    return PairView(
        pair=replace(
            pair, checks=None, comparisons=tuple(replace(one, flips=None) for one in pair.comparisons)
        ),
        checks={
            name: (len(found), found[:MOST_FLIPS])
            for name, found in (pair.checks.changes.items() if pair.checks else ())
        },
        checks_summary=pair.checks.summary if pair.checks else "",
        won=sum(all(better for _, better in row.scores) for row in rows),
        lost=sum(not any(better for _, better in row.scores) for row in rows),
        flipped=len(rows),
        flips=tuple(rows[:MOST_FLIPS]),
    )


def _notes(report: ComparisonReport) -> list[str]:
    said = [f"{name} is not compared: {why}." for name, why in report.left_out.items()]
    for pair in report.pairs:
        for one in pair.comparisons:
            who = f"{pair.second}, {one.score}"
            if one.one_sided:
                said.append(f"{who}: {count_text(one.one_sided, 'turn', HAVE)} a score on one side only.")
            if one.unlike:
                said.append(f"{who}: {count_text(one.unlike, 'turn', HAVE)} another question or gold answer.")
    said.append(f"p: two-sided permutation test that swaps whole conversations; {holm_note(report)}")
    return list(dict.fromkeys(said))
