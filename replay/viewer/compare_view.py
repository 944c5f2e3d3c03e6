"""*Compare*: two or more runs on the same turns, each against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replay.core.errors import InputError
from replay.report.charts import (
    Chart,
    Switches,
    switches,
)
from replay.report.compare_document import holm_note
from replay.report.depth_charts import difference_chart
from replay.report.notes import HAVE
from replay.report.numbers import count_text
from replay.statistics.checks import ChangedCheck
from replay.statistics.comparison import Comparison, ComparisonSettings, Flip
from replay.statistics.group import pair_groups
from replay.statistics.run_comparison import ComparedPair, ComparisonReport, ScoredRun, comparison_report

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
